// Norms of rows that are split over tiles: sums of a part, and normalising a part.
//
//   row_statistics_f16, row_statistics_f32: for each row, the sum of x and the sum of x², two singles
//     $m2 sums       2 singles a row, multiple of 8
//     $m3 x          rows start at multiples of 8
//     $m4 rows       at least 1
//     $m5 n          elements of the row's part here, at least 1
//   row_apply_f16, row_apply_f32: z = (x - mean) / sqrt(variance + epsilon) · gain + bias
//     $m2 z, $m3 x, $m4 rows, $m5 n   as above; z may be x
//     $m6 gain, $m7 bias              n elements each
//     $m8 sums       of all parts of each row: rows × parts × 2 singles
//     $m9 constants  multiple of 8: the singles that sums of x and of x² are multiplied by to get the
//                    mean and the mean of x², epsilon; then a word, the number of parts, at least 1
//
// The variance is the mean of x² minus the square of the mean, which loses digits where the mean is
// large beside the deviation. With 0 for the mean it is a norm by the root of the mean of x². Rounding
// of results is as in layer_norm_f16; beyond n, z is 0.

#include "row_frame.inc"
#include "norm_atoms.inc"

#define STATE_SUMS 6
#define STATE_CONSTANTS 7

// The sums of a row have their own pace, whatever the length of a row.
#define SUMS Y

// Adds the halves of $a4:5 to the sums in $a6:7, and their squares.
.macro ADD_UP_HALVES load:vararg
  { nop ; f16v2tof32 $a2:3, $a5 }
  { nop ; f16v2tof32 $a0:1, $a4 }
  { \load ; f32v4sqacc $a0:3 }
  { nop ; f32v2add $a6:7, $a6:7, $a0:1 }
  { nop ; f32v2add $a6:7, $a6:7, $a2:3 }
.endm

.macro ADD_UP_SINGLES load:vararg
  { nop ; f32v2mac $a4:5, $a4:5 }
  { \load ; f32v2add $a6:7, $a6:7, $a4:5 }
.endm

.macro ROW_STATISTICS name type add
  VECTOR_SUPERVISOR \name, m2, m3, m4, m5
  ROW_WORKER \name, \type
  AT_PAIR $SUMS, $WORKER, STATE_Z
.L\name\()_next:
  CLEAR_SUMS
  zero    $a6:7
  ld64    $a4:5, $X, $LAST, 0
  ld64    $a2:3, $MASKS, $mzero, MASK
  { mov   $X_AT, $X ; and64 $a4:5, $a4:5, $a2:3 }
  ALIGNED_RPT \name, $FURTHER, sum
.L\name\()_sum:
  \add ld64step $a4:5, $mzero, $X_AT+=, 1
.L\name\()_sum_end:
  \add nop
  TAKE_SUM
  mov     $a1, $a0
  f32add  $a0, $a6, $a7
  st64step $a0:1, $mzero, $SUMS+=, CTXT_WORKERS
  ROW_END \name, next, 0
.endm

// The worker's place in the sums of rows is kept in the register of its number.
#define SUMS_AT WORKER
#define PARTS   m11

#define CONSTANT_EPSILON 2
#define CONSTANT_PARTS   3

.macro ROW_APPLY name type atom
  VECTOR_SUPERVISOR \name, m2, m3, m4, m5, m6, m7, m8, m9
  ROW_WORKER \name, \type
  ld32    $SCRATCH, $mvertex_base, $mzero, STATE_CONSTANTS
  ld32    $PARTS, $SCRATCH, $mzero, CONSTANT_PARTS
  mul     $SUMS_AT, $WORKER, $PARTS
  AT_PAIR $SUMS_AT, $SUMS_AT, STATE_SUMS
.L\name\()_next:
  { ld64step $a0:1, $mzero, $SUMS_AT+=, 1 ; zero $a2:3 }
  add     $SCRATCH, $PARTS, -1
  ALIGNED_RPT \name, $SCRATCH, parts
.L\name\()_parts:
  { ld64step $a0:1, $mzero, $SUMS_AT+=, 1 ; f32v2add $a2:3, $a2:3, $a0:1 }
.L\name\()_parts_end:
  { ld32  $SCRATCH, $mvertex_base, $mzero, STATE_CONSTANTS ; f32v2add $a0:1, $a2:3, $a0:1 }
  ld64    $a2:3, $SCRATCH, $mzero, 0
  { ld32  $a5, $SCRATCH, $mzero, CONSTANT_EPSILON ; f32v2mul $a0:1, $a2:3, $a0:1 }
  { mul   $SCRATCH, $PARTS, 8 * (CTXT_WORKERS - 1) ; f32mul $a4, $a0, $a0 }
  { add   $SUMS_AT, $SUMS_AT, $SCRATCH ; f32sub $a1, $a1, $a4 }
  f32max  $a1, $a1, $azero
  f32add  $a1, $a1, $a5
  { ld32  $GAIN_AT, $mvertex_base, $mzero, STATE_GAIN ; f32oorx $a6, $a1 }
  { ld32  $BIAS_AT, $mvertex_base, $mzero, LAYER_BIAS ; f32sub $a7, $azero, $a0 }
  APPLY \name, \atom
  ROW_END \name, next
.endm

  ROW_STATISTICS row_statistics_f16, halves, ADD_UP_HALVES
  ROW_STATISTICS row_statistics_f32, singles, ADD_UP_SINGLES
  ROW_APPLY row_apply_f16, halves, LAYER_ATOM
  ROW_APPLY row_apply_f32, singles, SINGLE_LAYER_ATOM
