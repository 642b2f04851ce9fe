// softmax_f16, softmax_f32: z = exp(s · (x - m)) / sum of exp(s · (x - m)), m the largest, of what each
// row sees.
//
//   $m2 z, $m3 x   byte addresses, multiples of 8; z may be x. Rows start at multiples of 8
//   $m4 rows       at least 1
//   $m5 n          elements of a row, at least 1
//   $m6 s          the bits of a single, not negative
//   $m7 count      byte address of a word: how many of a row's first elements count; less than 1 is 1, more
//                  than n is n
//   $m8 first      row r sees the first first + r + 1 of them; n or more if all rows see all
//
// Exponentials and their sum are singles; halves are rounded before and after the division by the
// sum. Beyond what a row sees, z is 0.

#include "softmax_atoms.inc"

// Of a worker's rows; the rest is as in row_frame.inc.
#define COUNTED WORKER
#define COUNTED_FIRST FURTHER
#define SEES    m2
#define TOTAL   m11

.macro SOFTMAX_WORKER name type grain_log2
  ROW_MASKS \name, \type
  WORKER_START \name
  ld32    $COUNT, $mvertex_base, $mzero, STATE_ROWS
  TAKE_SHARE
  brz     $COUNT, .L\name\()_done
  add     $LEFT, $COUNT, -1
  ld32    $TOTAL, $mvertex_base, $mzero, STATE_N
  ld32    $Z, $mvertex_base, $mzero, STATE_Z
  ld32    $X, $mvertex_base, $mzero, STATE_X
  ld32    $SEES, $mvertex_base, $mzero, STATE_FIRST
  ld32    $SCRATCH, $mvertex_base, $mzero, STATE_COUNT
  ld32    $SCRATCH, $SCRATCH, $mzero, 0
  min     $COUNTED_FIRST, $SCRATCH, $TOTAL
  add     $TOTAL, $TOTAL, -1
  shr     $TOTAL, $TOTAL, \grain_log2
  add     $SCRATCH, $TOTAL, 1
  shl     $SCRATCH, $SCRATCH, 3
  mul     $SCRATCH, $SCRATCH, $WORKER
  add     $X, $X, $SCRATCH
  add     $Z, $Z, $SCRATCH
  add     $SEES, $SEES, $WORKER
  add     $SEES, $SEES, 1
  max     $COUNTED, $COUNTED_FIRST, 1
.L\name\()_row:
  min     $FURTHER, $COUNTED, $SEES
  SEEN_ATOMS \name, \grain_log2
  shl     $LAST, $FURTHER, 3
.endm

// `last` makes the last atom that the row sees, for Z_AT; X and Z are at the next row.
.macro SOFTMAX_END name last:vararg
  { sub   $SCRATCH, $TOTAL, $FURTHER ; \last }
  st64step $a2:3, $mzero, $Z_AT+=, 1
  ALIGNED_RPT \name, $SCRATCH, clear
.L\name\()_clear:
  { st64step $azeros, $mzero, $Z_AT+=, 1 ; fnop }
.L\name\()_clear_end:
  add     $SEES, $SEES, CTXT_WORKERS
  brnzdec $LEFT, .L\name\()_row
  VECTOR_END \name
.endm

  VECTOR_SUPERVISOR softmax_f16, m2, m3, m4, m5, m6, m7, m8
  SOFTMAX_WORKER softmax_f16, halves, 2
  // The last atom, with the least half where it is padded, is in $a4:5; the largest goes to $a2:3.
  LAST_HALVES $LAST
  { mov   $X_AT, $X ; mov $a2:3, $a4:5 }
  { mov   $Z_AT, $Z ; mov $a0:1, $a4:5 }
  ALIGNED_RPT softmax_f16, $FURTHER, max
.Lsoftmax_f16_max:
  { ld64step $a0:1, $mzero, $X_AT+=, 1 ; f16v4max $a2:3, $a2:3, $a0:1 }
.Lsoftmax_f16_max_end:
  LARGEST_HALF
  { ld32  $a6, $mvertex_base, $mzero, STATE_SCALE ; f32sub $a7, $azero, $a7 }
  CLEAR_SUMS
  SCALED_HALVES add $SCRATCH, $FURTHER, -1
  MASKED_EXPONENTIALS
  // The first atom is there even if the row sees no other.
  { mov   $X_AT, $X ; f32v4acc $a0:3 }
  { ld64step $a4:5, $mzero, $X_AT+=, 1 ; f32v4tof16 $a0:1, $a0:3 }
  st64    $a0:1, $Z, $LAST, 0
  brz     $FURTHER, .Lsoftmax_f16_summed
  FOUR_EXPONENTIALS nop
  ADD_EXPONENTIALS ld64step $a4:5, $mzero, $X_AT+=, 1
  ALIGNED_RPT softmax_f16, $SCRATCH, exp
.Lsoftmax_f16_exp:
  FOUR_EXPONENTIALS st64step $a0:1, $mzero, $Z_AT+=, 1
  ADD_EXPONENTIALS ld64step $a4:5, $mzero, $X_AT+=, 1
.Lsoftmax_f16_exp_end:
  st64step $a0:1, $mzero, $Z_AT+=, 1
.Lsoftmax_f16_summed:
  { mov   $Z_AT, $Z ; f32v2gina $a0:1, $azeros, 0 }
  { mov   $X_AT, $Z ; f32v2gina $a2:3, $azeros, 0 }
  { add   $SCRATCH, $TOTAL, 1 ; f32v2add $a0:1, $a0:1, $a2:3 }
  { mul   $SCRATCH, $SCRATCH, CTXT_WORKERS * 8 ; f32add $a0, $a0, $a1 }
  { add   $X, $X, $SCRATCH ; f32oox $a0, $a0 }
  { add   $Z, $Z, $SCRATCH ; f32tof16 $a6, $a0 }
  ld64step $a0:1, $mzero, $X_AT+=, 1
  ALIGNED_RPT softmax_f16, $FURTHER, scale
.Lsoftmax_f16_scale:
  { ld64step $a0:1, $mzero, $X_AT+=, 1 ; f16v4mul $a2:3, $a6:BL, $a0:1 }
  { st64step $a2:3, $mzero, $Z_AT+=, 1 ; fnop }
.Lsoftmax_f16_scale_end:
  SOFTMAX_END softmax_f16 f16v4mul $a2:3, $a6:BL, $a0:1

  // Two exponentials of $a4:5, to $a0:1; -m is in $a7, s in $a6.
.macro TWO_EXPONENTIALS load:vararg
  { nop ; f32v2add $a0:1, $a7:B, $a4:5 }
  { nop ; f32v2mul $a0:1, $a6:B, $a0:1 }
  { nop ; f32exp $a0, $a0 }
  { \load ; f32exp $a1, $a1 }
.endm

  VECTOR_SUPERVISOR softmax_f32, m2, m3, m4, m5, m6, m7, m8
  SOFTMAX_WORKER softmax_f32, singles, 1
  LAST_SINGLES
  { mov   $X_AT, $X ; mov $a2:3, $a4:5 }
  { mov   $Z_AT, $Z ; mov $a0:1, $a4:5 }
  ALIGNED_RPT softmax_f32, $FURTHER, max
.Lsoftmax_f32_max:
  { ld64step $a0:1, $mzero, $X_AT+=, 1 ; f32v2max $a2:3, $a2:3, $a0:1 }
.Lsoftmax_f32_max_end:
  f32v2max $a2:3, $a2:3, $a0:1
  { ld32  $a6, $mvertex_base, $mzero, STATE_SCALE ; f32max $a2, $a2, $a3 }
  f32sub  $a7, $azero, $a2
  TWO_EXPONENTIALS ld64 $a2:3, $MASKS, $mzero, MASK
  { mov   $X_AT, $X ; and64 $a0:1, $a0:1, $a2:3 }
  { st64  $a0:1, $Z, $LAST, 0 ; mov $a2:3, $a0:1 }
  brz     $FURTHER, .Lsoftmax_f32_summed
  ld64step $a4:5, $mzero, $X_AT+=, 1
  add     $SCRATCH, $FURTHER, -1
  ALIGNED_RPT softmax_f32, $SCRATCH, exp
.Lsoftmax_f32_exp:
  TWO_EXPONENTIALS ld64step $a4:5, $mzero, $X_AT+=, 1
  { st64step $a0:1, $mzero, $Z_AT+=, 1 ; f32v2add $a2:3, $a2:3, $a0:1 }
.Lsoftmax_f32_exp_end:
  TWO_EXPONENTIALS nop
  { st64step $a0:1, $mzero, $Z_AT+=, 1 ; f32v2add $a2:3, $a2:3, $a0:1 }
.Lsoftmax_f32_summed:
  { mov   $Z_AT, $Z ; f32add $a6, $a2, $a3 }
  { mov   $X_AT, $Z ; f32oox $a6, $a6 }
  add     $SCRATCH, $TOTAL, 1
  mul     $SCRATCH, $SCRATCH, CTXT_WORKERS * 8
  add     $X, $X, $SCRATCH
  add     $Z, $Z, $SCRATCH
  ld64step $a0:1, $mzero, $X_AT+=, 1
  ALIGNED_RPT softmax_f32, $FURTHER, scale
.Lsoftmax_f32_scale:
  { ld64step $a0:1, $mzero, $X_AT+=, 1 ; f32v2mul $a2:3, $a6:B, $a0:1 }
  { st64step $a2:3, $mzero, $Z_AT+=, 1 ; fnop }
.Lsoftmax_f32_scale_end:
  SOFTMAX_END softmax_f32 f32v2mul $a2:3, $a6:B, $a0:1
