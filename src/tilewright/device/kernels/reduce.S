// Each row brought to one number: its sum times a factor, or its greatest element. A row is blocks of
// elements that lie side by side.
//
//   z[j] = factor · Σ x[j · pitch + b · block pitch + i],   0 <= j < rows, 0 <= b < blocks, 0 <= i < n
//
//   reduce_sum_f16, reduce_sum_f32, reduce_max_f16, reduce_max_f32; reduce_sum_f16_f32 and
//   reduce_max_f16_f32 of halves to singles:
//     $m2 z            multiple of 8; a half beside the last one of an odd number is written with 0
//     $m3 x            multiple of 8
//     $m4 rows         at least 1
//     $m5 pitch        bytes from row to row, a multiple of 4
//     $m6 blocks       of a row, at least 1
//     $m7 block pitch  bytes from block to block, a multiple of 4
//     $m8 n            elements of a block, at least 1
//     $m9 factor       bits of a single; sums only
//
// Halves are added up in singles, elements at even and at odd places of a block apart, and rounded
// once. A worker takes every sixth row of singles, or pair of rows of halves: two bundles for two halves
// of a sum, one for two halves of a greatest element, one for a single.

#include "vector.inc"

#define X_PITCH  m0
#define X_AT     m2
#define LEFT     m6
#define IN_BLOCK m7
#define TO_BLOCK m8
#define BLOCKS   m9
#define BLOCK_AT m10
#define ROWS     m11

#define STATE_ROWS 2
#define STATE_PITCH 3
#define STATE_BLOCKS 4
#define STATE_TO_BLOCK 5
#define STATE_IN_BLOCK 6
#define STATE_FACTOR 7

// COUNT: units of `rows` rows for this worker, less one; X and Z: its first ones. ROWS: those from X
// on.
.macro REDUCE_START name rows_log2
  WORKER_START \name
  ld32    $ROWS, $mvertex_base, $mzero, STATE_ROWS
  add     $COUNT, $ROWS, (1 << \rows_log2) - 1
  shr     $COUNT, $COUNT, \rows_log2
  TAKE_SHARE
  brz     $COUNT, .L\name\()_done
  add     $COUNT, $COUNT, -1
  ld32    $Z, $mvertex_base, $mzero, 0
  ld32    $X, $mvertex_base, $mzero, 1
  shl     $SCRATCH, $WORKER, 2
  add     $Z, $Z, $SCRATCH
  shl     $SCRATCH, $WORKER, \rows_log2
  sub     $ROWS, $ROWS, $SCRATCH
  ld32    $X_PITCH, $mvertex_base, $mzero, STATE_PITCH
  mul     $SCRATCH, $SCRATCH, $X_PITCH
  add     $X, $X, $SCRATCH
  ld32    $BLOCKS, $mvertex_base, $mzero, STATE_BLOCKS
  add     $BLOCKS, $BLOCKS, -1
  ld32    $TO_BLOCK, $mvertex_base, $mzero, STATE_TO_BLOCK
  ld32    $IN_BLOCK, $mvertex_base, $mzero, STATE_IN_BLOCK
.L\name\()_row:
.endm

.macro REDUCE_END name rows_log2
  mul     $SCRATCH, $X_PITCH, CTXT_WORKERS << \rows_log2
  add     $X, $X, $SCRATCH
  add     $ROWS, $ROWS, -CTXT_WORKERS << \rows_log2
  brnzdec $COUNT, .L\name\()_row
  VECTOR_END \name
.endm

// The sum of the row of halves from `x` on, in `total`. Pairs wait in $a2:3 to be added to $a4:5.
.macro SUM_OF_HALVES name place x total
  { mov   $BLOCK_AT, $\x ; zero $a4:5 }
  { mov   $LEFT, $BLOCKS ; zero $a2:3 }
.L\name\()_\place\()_block:
  mov     $X_AT, $BLOCK_AT
  shr     $SCRATCH, $IN_BLOCK, 1
  ALIGNED_RPT \name, $SCRATCH, \place
.L\name\()_\place:
  { ld32step $a0, $mzero, $X_AT+=, 1 ; f32v2add $a4:5, $a4:5, $a2:3 }
  { nop   ; f16v2tof32 $a2:3, $a0 }
.L\name\()_\place\()_end:
  and     $SCRATCH, $IN_BLOCK, 1
  brz     $SCRATCH, .L\name\()_\place\()_even
  { ldb16 $a0, $X_AT, $mzero, 0 ; f32v2add $a4:5, $a4:5, $a2:3 }
  zero    $a3
  f16tof32 $a2, $a0
.L\name\()_\place\()_even:
  add     $BLOCK_AT, $BLOCK_AT, $TO_BLOCK
  brnzdec $LEFT, .L\name\()_\place\()_block
  f32v2add $a4:5, $a4:5, $a2:3
  f32add  $\total, $a4, $a5
.endm

  VECTOR_SUPERVISOR reduce_sum_f16, m2, m3, m4, m5, m6, m7, m8, m9
  REDUCE_START reduce_sum_f16, 1
  SUM_OF_HALVES reduce_sum_f16, first, X, a6
  { cmpult $SCRATCH, $ROWS, 2 ; zero $a7 }
  brnz    $SCRATCH, .Lreduce_sum_f16_single
  add     $Y, $X, $X_PITCH
  SUM_OF_HALVES reduce_sum_f16, second, Y, a7
.Lreduce_sum_f16_single:
  ld32    $a0, $mvertex_base, $mzero, STATE_FACTOR
  f32mul  $a6, $a6, $a0
  f32mul  $a7, $a7, $a0
  f32v2tof16 $a6, $a6:7
  st32step $a6, $mzero, $Z+=, CTXT_WORKERS
  REDUCE_END reduce_sum_f16, 1

// The greatest half of a row in both halves of `greatest`.
.macro GREATEST_HALF name place x greatest
  mov     $BLOCK_AT, $\x
  mov     $LEFT, $BLOCKS
  ldb16   $a0, $BLOCK_AT, $mzero, 0
  mov     $\greatest, $a0
.L\name\()_\place\()_block:
  mov     $X_AT, $BLOCK_AT
  shr     $SCRATCH, $IN_BLOCK, 1
  ALIGNED_RPT \name, $SCRATCH, \place
.L\name\()_\place:
  { ld32step $a0, $mzero, $X_AT+=, 1 ; f16v2max $\greatest, $\greatest, $a0 }
.L\name\()_\place\()_end:
  and     $SCRATCH, $IN_BLOCK, 1
  brz     $SCRATCH, .L\name\()_\place\()_even
  { ldb16 $a0, $X_AT, $mzero, 0 ; f16v2max $\greatest, $\greatest, $a0 }
.L\name\()_\place\()_even:
  add     $BLOCK_AT, $BLOCK_AT, $TO_BLOCK
  brnzdec $LEFT, .L\name\()_\place\()_block
  f16v2max $\greatest, $\greatest, $a0
  f16v2maxc $\greatest, $\greatest
.endm

  VECTOR_SUPERVISOR reduce_max_f16, m2, m3, m4, m5, m6, m7, m8
  REDUCE_START reduce_max_f16, 1
  GREATEST_HALF reduce_max_f16, first, X, a6
  { cmpult $SCRATCH, $ROWS, 2 ; zero $a7 }
  brnz    $SCRATCH, .Lreduce_max_f16_single
  add     $Y, $X, $X_PITCH
  GREATEST_HALF reduce_max_f16, second, Y, a7
.Lreduce_max_f16_single:
  sort4x16lo $a6, $a6, $a7
  st32step $a6, $mzero, $Z+=, CTXT_WORKERS
  REDUCE_END reduce_max_f16, 1

// A row of singles brought to $a4; $a0 holds what the first bundle brings to it.
.macro REDUCE_SINGLES name operation
  mov     $BLOCK_AT, $X
  mov     $LEFT, $BLOCKS
.L\name\()_block:
  mov     $X_AT, $BLOCK_AT
  ALIGNED_RPT \name, $IN_BLOCK, loop
.L\name\()_loop:
  { ld32step $a0, $mzero, $X_AT+=, 1 ; \operation $a4, $a4, $a0 }
.L\name\()_loop_end:
  add     $BLOCK_AT, $BLOCK_AT, $TO_BLOCK
  brnzdec $LEFT, .L\name\()_block
  \operation $a4, $a4, $a0
.endm

  VECTOR_SUPERVISOR reduce_sum_f32, m2, m3, m4, m5, m6, m7, m8, m9
  REDUCE_START reduce_sum_f32, 0
  zero    $a0
  zero    $a4
  REDUCE_SINGLES reduce_sum_f32, f32add
  ld32    $a0, $mvertex_base, $mzero, STATE_FACTOR
  f32mul  $a4, $a4, $a0
  st32step $a4, $mzero, $Z+=, CTXT_WORKERS
  REDUCE_END reduce_sum_f32, 0

  VECTOR_SUPERVISOR reduce_max_f32, m2, m3, m4, m5, m6, m7, m8
  REDUCE_START reduce_max_f32, 0
  ld32    $a0, $X, $mzero, 0
  mov     $a4, $a0
  REDUCE_SINGLES reduce_max_f32, f32max
  st32step $a4, $mzero, $Z+=, CTXT_WORKERS
  REDUCE_END reduce_max_f32, 0

// The same of halves, to singles: a part of a row that others add to.
  VECTOR_SUPERVISOR reduce_sum_f16_f32, m2, m3, m4, m5, m6, m7, m8, m9
  REDUCE_START reduce_sum_f16_f32, 0
  SUM_OF_HALVES reduce_sum_f16_f32, first, X, a6
  ld32    $a0, $mvertex_base, $mzero, STATE_FACTOR
  f32mul  $a6, $a6, $a0
  st32step $a6, $mzero, $Z+=, CTXT_WORKERS
  REDUCE_END reduce_sum_f16_f32, 0

  VECTOR_SUPERVISOR reduce_max_f16_f32, m2, m3, m4, m5, m6, m7, m8
  REDUCE_START reduce_max_f16_f32, 0
  GREATEST_HALF reduce_max_f16_f32, first, X, a6
  f16tof32 $a6, $a6
  st32step $a6, $mzero, $Z+=, CTXT_WORKERS
  REDUCE_END reduce_max_f16_f32, 0
