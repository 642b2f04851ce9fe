// Layer norm of rows of halves that are split over tiles: sums of a part, and normalising a part.
//
//   row_statistics_f16: for each row, the sum of x and the sum of x², two singles
//     $m2 sums       2 singles a row, multiple of 8
//     $m3 x          rows start at multiples of 8
//     $m4 rows       at least 1
//     $m5 n          elements of the row's part here, at least 1
//   row_apply_f16: z = (x - mean) / sqrt(variance + epsilon) · gain + bias
//     $m2 z, $m3 x, $m4 rows, $m5 n   as above; z may be x
//     $m6 gain, $m7 bias              n halves each
//     $m8 sums       of whole rows: the parts' sums, added up
//     $m9 constants  two singles, multiple of 8: 1 / elements of a whole row, epsilon
//
// The variance is the mean of x² minus the square of the mean, which loses digits where the mean is
// large beside the deviation. Rounding of results is as in layer_norm_f16; beyond n, z is 0.

#include "row_frame.inc"
#include "norm_atoms.inc"

#define STATE_SUMS 6
#define STATE_CONSTANTS 7

#define SUMS Y

  VECTOR_SUPERVISOR row_statistics_f16, m2, m3, m4, m5
  ROW_WORKER row_statistics_f16, halves
  // The sums of a row take one atom, whatever the length of a row: $SUMS goes its own way.
  shl     $SUMS, $WORKER, 3
  ld32    $SCRATCH, $mvertex_base, $mzero, STATE_Z
  add     $SUMS, $SUMS, $SCRATCH
.Lrow_statistics_f16_next:
  CLEAR_SUMS
  zero    $a6:7
  ld64    $a4:5, $X, $LAST, 0
  ld64    $a2:3, $MASKS, $mzero, MASK
  { mov   $X_AT, $X ; and64 $a4:5, $a4:5, $a2:3 }

.macro ADD_UP load:vararg
  { nop ; f16v2tof32 $a2:3, $a5 }
  { nop ; f16v2tof32 $a0:1, $a4 }
  { \load ; f32v4sqacc $a0:3 }
  { nop ; f32v2add $a6:7, $a6:7, $a0:1 }
  { nop ; f32v2add $a6:7, $a6:7, $a2:3 }
.endm

  ALIGNED_RPT row_statistics_f16, $FURTHER, sum
.Lrow_statistics_f16_sum:
  ADD_UP ld64step $a4:5, $mzero, $X_AT+=, 1
.Lrow_statistics_f16_sum_end:
  ADD_UP nop
  TAKE_SUM
  mov     $a1, $a0
  f32add  $a0, $a6, $a7
  st64step $a0:1, $mzero, $SUMS+=, CTXT_WORKERS
  add     $SCRATCH, $LAST, 8
  mul     $SCRATCH, $SCRATCH, CTXT_WORKERS
  add     $X, $X, $SCRATCH
  brnzdec $LEFT, .Lrow_statistics_f16_next
  VECTOR_END row_statistics_f16

// The worker's place in the sums of rows is kept in the register of its number.
#define SUMS_AT WORKER

  VECTOR_SUPERVISOR row_apply_f16, m2, m3, m4, m5, m6, m7, m8, m9
  ROW_WORKER row_apply_f16, halves
  shl     $SUMS_AT, $WORKER, 3
  ld32    $SCRATCH, $mvertex_base, $mzero, STATE_SUMS
  add     $SUMS_AT, $SUMS_AT, $SCRATCH
.Lrow_apply_f16_next:
  ld32    $SCRATCH, $mvertex_base, $mzero, STATE_CONSTANTS
  ld64    $a2:3, $SCRATCH, $mzero, 0
  ld64step $a0:1, $mzero, $SUMS_AT+=, CTXT_WORKERS
  f32v2mul $a0:1, $a2:B, $a0:1
  f32mul  $a4, $a0, $a0
  f32sub  $a1, $a1, $a4
  f32max  $a1, $a1, $azero
  f32add  $a1, $a1, $a3
  f32oorx $a6, $a1
  f32sub  $a7, $azero, $a0
  ld32    $GAIN_AT, $mvertex_base, $mzero, STATE_GAIN
  ld32    $BIAS_AT, $mvertex_base, $mzero, LAYER_BIAS
  APPLY row_apply_f16, LAYER_ATOM
  add     $SCRATCH, $LAST, 8
  mul     $SCRATCH, $SCRATCH, CTXT_WORKERS
  add     $X, $X, $SCRATCH
  add     $Z, $Z, $SCRATCH
  brnzdec $LEFT, .Lrow_apply_f16_next
  VECTOR_END row_apply_f16
