// Softmax of rows that are split over tiles: figures of a part, and the part's share of one.
//
//   softmax_statistics_f16, softmax_statistics_f32: for each row, the largest x of the part, m, and the
//   sum of exp(x - m), two singles
//     $m2 figures    2 singles a row, multiple of 8
//     $m3 x          rows start at multiples of 8
//     $m4 rows       at least 1
//     $m5 n          elements of the row's part here, at least 1
//   softmax_apply_f16, softmax_apply_f32: z = exp(x - M) / S, M the largest of all parts' m, and S the sum
//   of their sums times exp(m - M)
//     $m2 z, $m3 x, $m4 rows, $m5 n   as above; z may be x
//     $m6 figures    of all parts of each row: rows × parts × 2 singles
//     $m7 parts      at least 1
//
// All of it is computed in singles; halves are rounded once. Beyond n, z is 0.

#include "norm_atoms.inc"
#include "softmax_atoms.inc"

#define STATE_FIGURES 4
#define STATE_PARTS   5

// The figures of a row have their own pace, whatever the length of a row.
#define FIGURES Y
#define PARTS   m11

.macro LAST_OF_HALVES
  LAST_HALVES $LAST
.endm

// $a7 = the largest of $a0:1 and $a2:3.
.macro LARGEST_SINGLE
  f32v2max $a2:3, $a2:3, $a0:1
  f32max  $a7, $a2, $a3
.endm

// Adds the exponentials of $a4:5 to the sums; of the last atom those that it has. -m is in $a7.
.macro ADD_HALVES load:vararg
  SHIFTED_HALVES nop
  EXPONENTIALS
  { \load ; f32v4acc $a0:3 }
.endm

.macro ADD_LAST_HALVES
  SHIFTED_HALVES nop
  MASKED_EXPONENTIALS
  f32v4acc $a0:3
.endm

// Of singles, with 0 in $a2:3.
.macro TWO_EXPONENTIALS load:vararg
  { nop ; f32v2add $a0:1, $a7:B, $a4:5 }
  { nop ; f32exp $a0, $a0 }
  { \load ; f32exp $a1, $a1 }
.endm

.macro ADD_SINGLES load:vararg
  TWO_EXPONENTIALS \load
  { nop ; f32v4acc $a0:3 }
.endm

.macro ADD_LAST_SINGLES
  TWO_EXPONENTIALS ld64 $a2:3, $MASKS, $mzero, MASK
  and64   $a0:1, $a0:1, $a2:3
  zero    $a2:3
  f32v4acc $a0:3
.endm

.macro SOFTMAX_STATISTICS name type last max largest add add_last
  VECTOR_SUPERVISOR \name, m2, m3, m4, m5
  ROW_WORKER \name, \type
  AT_PAIR $FIGURES, $WORKER, STATE_Z
.L\name\()_next:
  CLEAR_SUMS
  \last
  { mov   $X_AT, $X ; mov $a2:3, $a4:5 }
  mov     $a0:1, $a4:5
  ALIGNED_RPT \name, $FURTHER, max
.L\name\()_max:
  { ld64step $a0:1, $mzero, $X_AT+=, 1 ; \max $a2:3, $a2:3, $a0:1 }
.L\name\()_max_end:
  \largest
  { mov   $X_AT, $X ; f32sub $a7, $azero, $a7 }
  \add_last
  ld64step $a4:5, $mzero, $X_AT+=, 1
  ALIGNED_RPT \name, $FURTHER, exp
.L\name\()_exp:
  \add ld64step $a4:5, $mzero, $X_AT+=, 1
.L\name\()_exp_end:
  TAKE_SUM
  mov     $a1, $a0
  f32sub  $a0, $azero, $a7
  st64step $a0:1, $mzero, $FIGURES+=, CTXT_WORKERS
  ROW_END \name, next, 0
.endm

// The share of one of $a4:5, to $a0:1; -M is in $a7, 1 / S in $a6.
.macro SHARES_OF_HALVES load:vararg
  SHIFTED_HALVES nop
  EXPONENTIALS
  { nop ; f32v2mul $a2:3, $a6:B, $a2:3 }
  { \load ; f32v2mul $a0:1, $a6:B, $a0:1 }
  { nop ; f32v4tof16 $a0:1, $a0:3 }
.endm

.macro SHARES_OF_SINGLES load:vararg
  TWO_EXPONENTIALS \load
  { nop ; f32v2mul $a0:1, $a6:B, $a0:1 }
.endm

.macro SOFTMAX_APPLY name type shares
  VECTOR_SUPERVISOR \name, m2, m3, m4, m5, m6, m7
  ROW_WORKER \name, \type
  ld32    $PARTS, $mvertex_base, $mzero, STATE_PARTS
  mul     $FIGURES, $WORKER, $PARTS
  AT_PAIR $FIGURES, $FIGURES, STATE_FIGURES
.L\name\()_next:
  mov     $X_AT, $FIGURES
  ld64step $a0:1, $mzero, $X_AT+=, 1
  { add   $SCRATCH, $PARTS, -1 ; mov $a7, $a0 }
  ALIGNED_RPT \name, $SCRATCH, largest
.L\name\()_largest:
  { ld64step $a0:1, $mzero, $X_AT+=, 1 ; fnop }
  { nop ; f32max $a7, $a7, $a0 }
.L\name\()_largest_end:
  { mul   $SCRATCH, $PARTS, 8 * (CTXT_WORKERS - 1) ; zero $a6 }
  ALIGNED_RPT \name, $PARTS, sum
.L\name\()_sum:
  { ld64step $a0:1, $mzero, $FIGURES+=, 1 ; fnop }
  { nop ; f32sub $a0, $a0, $a7 }
  { nop ; f32exp $a0, $a0 }
  { nop ; f32mul $a0, $a0, $a1 }
  { nop ; f32add $a6, $a6, $a0 }
.L\name\()_sum_end:
  { add   $FIGURES, $FIGURES, $SCRATCH ; f32oox $a6, $a6 }
  f32sub  $a7, $azero, $a7
  APPLY \name, \shares
  ROW_END \name, next
.endm

  SOFTMAX_STATISTICS softmax_statistics_f16, halves, LAST_OF_HALVES, f16v4max, LARGEST_HALF, ADD_HALVES, ADD_LAST_HALVES
  SOFTMAX_STATISTICS softmax_statistics_f32, singles, LAST_SINGLES, f32v2max, LARGEST_SINGLE, ADD_SINGLES, ADD_LAST_SINGLES
  SOFTMAX_APPLY softmax_apply_f16, halves, SHARES_OF_HALVES
  SOFTMAX_APPLY softmax_apply_f32, singles, SHARES_OF_SINGLES
