/* Constants of gemm_f16.S. */
#ifndef GEMM_F16_H
#define GEMM_F16_H

#include "tile_defines.h"

/* What the workers find at their vertex base, in words. */
#define STATE_C      0
#define STATE_A      1
#define STATE_ROWS   2
#define STATE_PITCH  3
#define STATE_ALPHA  4
#define STATE_WORDS  6

#define STACK_BYTES  8

#define CHANNELS     16
#define BLOCK_HALVES 16
#define LOG2_CHANNEL_BYTES 5

#if (1 << LOG2_CHANNEL_BYTES) != CHANNELS * 2
#error "LOG2_CHANNEL_BYTES does not fit CHANNELS"
#endif

/* n / 6 for n < 65536. */
#define DIVISION_SHIFT 18
#define DIVISION_MAGIC \
  (((1 << DIVISION_SHIFT) \
   / CTXT_WORKERS) + 1)

#define STRIDE_BITS 10
#define STRIDE_MASK ((1 << STRIDE_BITS) - 1)

#define PACE_SELECT(first, second, stored) \
  ((first) + ((second) << 2) + ((stored) << 4))

#define VECTOR_AVAIL_F8 1

#endif
