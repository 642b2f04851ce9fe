// Normalised rows of halves or singles, with statistics in singles.
//
//   layer_norm_f16, layer_norm_f32: z = (x - mean) / sqrt(variance + epsilon) · gain + bias
//     $m2 z, $m3 x   byte addresses, multiples of 8; z may be x. Rows start at multiples of 8
//     $m4 rows       at least 1
//     $m5 n          elements of a row, at least 1
//     $m6 gain, $m7 bias   n elements each
//     $m8 epsilon    the bits of a single
//   rms_norm_f16, rms_norm_f32: z = x / sqrt(mean of x² + epsilon) · gain
//     the same without a bias: $m6 gain, $m7 epsilon
//
// Of halves, the normalised value is rounded to a half before the gain, and so are product and sum.
// Beyond n, z is 0.

#include "row_frame.inc"
#include "norm_atoms.inc"

#define LAYER_EPSILON 6
#define RMS_EPSILON 5

// Rows of n elements: $a6 = 1 / n.
.macro RECIPROCAL_OF_N
  ld32    $a6, $mvertex_base, $mzero, STATE_N
  f32fromi32 $a6, $a6
  f32oox  $a6, $a6
.endm

// $a0:3 = the singles of $a4:5; to be moved by the negative mean in $a7.
.macro SINGLES_OF_X
  { nop ; f16v2tof32 $a2:3, $a5 }
  { nop ; f16v2tof32 $a0:1, $a4 }
.endm

.macro SHIFT
  { nop ; f32v2add $a2:3, $a7:B, $a2:3 }
  { nop ; f32v2add $a0:1, $a7:B, $a0:1 }
.endm

// Adds up the squares of what `work` makes of the row's atoms; padding is masked away.
.macro SUM_OF_SQUARES name work
  ld64    $a4:5, $X, $LAST, 0
  \work
  { ld64  $a4:5, $MASKS, $mzero, MASK_LOW ; fnop }
  and64   $a0:1, $a0:1, $a4:5
  { ld64  $a4:5, $MASKS, $mzero, MASK_HIGH ; fnop }
  and64   $a2:3, $a2:3, $a4:5
  { mov   $X_AT, $X ; f32v4sqacc $a0:3 }
  brz     $FURTHER, .L\name\()_squared
  ld64step $a4:5, $mzero, $X_AT+=, 1
  ALIGNED_RPT \name, $BUT_TWO, squares
.L\name\()_squares:
  \work
  { ld64step $a4:5, $mzero, $X_AT+=, 1 ; f32v4sqacc $a0:3 }
.L\name\()_squares_end:
  \work
  f32v4sqacc $a0:3
.L\name\()_squared:
  TAKE_SUM
.endm

// $a6 = 1 / sqrt(sum in $a0 / n + epsilon)
.macro SCALE_OF epsilon
  RECIPROCAL_OF_N
  { ld32  $a1, $mvertex_base, $mzero, \epsilon ; f32mul $a0, $a0, $a6 }
  f32add  $a0, $a0, $a1
  f32oorx $a6, $a0
.endm

.macro LAYER_WORK
  SINGLES_OF_X
  SHIFT
.endm

.macro RMS_WORK
  SINGLES_OF_X
.endm

// The same without a bias.
.macro RMS_ATOM load:vararg
  { nop ; f16v2tof32 $a2:3, $a5 }
  { nop ; f16v2tof32 $a0:1, $a4 }
  { ld64step $a4:5, $mzero, $GAIN_AT+=, 1 ; f32v2mul $a2:3, $a6:B, $a2:3 }
  { nop ; f32v2mul $a0:1, $a6:B, $a0:1 }
  { nop ; f32v4tof16 $a0:1, $a0:3 }
  { nop ; f16v4mul $a0:1, $a0:1, $a4:5 }
  { \load ; fnop }
.endm

  VECTOR_SUPERVISOR layer_norm_f16, m2, m3, m4, m5, m6, m7, m8
  ROW_WORKER layer_norm_f16, halves
  CLEAR_SUMS
  // The mean, negative, to $a7.
  ld64    $a0:1, $X, $LAST, 0
  ld64    $a2:3, $MASKS, $mzero, MASK
  { mov   $X_AT, $X ; and64 $a0:1, $a0:1, $a2:3 }
  ALIGNED_RPT layer_norm_f16, $FURTHER, sum
.Llayer_norm_f16_sum:
  { ld64step $a0:1, $mzero, $X_AT+=, 1 ; f16v4acc $a0:1 }
.Llayer_norm_f16_sum_end:
  f16v4acc $a0:1
  TAKE_SUM
  RECIPROCAL_OF_N
  f32mul  $a7, $a0, $a6
  f32sub  $a7, $azero, $a7
  SUM_OF_SQUARES layer_norm_f16, LAYER_WORK
  SCALE_OF LAYER_EPSILON
  ld32    $GAIN_AT, $mvertex_base, $mzero, STATE_GAIN
  ld32    $BIAS_AT, $mvertex_base, $mzero, LAYER_BIAS
  APPLY layer_norm_f16, LAYER_ATOM
  ROW_END layer_norm_f16

  VECTOR_SUPERVISOR rms_norm_f16, m2, m3, m4, m5, m6, m7
  ROW_WORKER rms_norm_f16, halves
  CLEAR_SUMS
  SUM_OF_SQUARES rms_norm_f16, RMS_WORK
  SCALE_OF RMS_EPSILON
  ld32    $GAIN_AT, $mvertex_base, $mzero, STATE_GAIN
  APPLY rms_norm_f16, RMS_ATOM
  ROW_END rms_norm_f16

// Singles. The two lanes of AACC 0 and 2 add up squares of $a0:1.

.macro MOVED load:vararg
  { \load ; f32v2add $a0:1, $a7:B, $a4:5 }
.endm

.macro UNMOVED load:vararg
  { \load ; mov $a0:1, $a4:5 }
.endm

.macro SUM_OF_SINGLE_SQUARES name work
  ld64    $a4:5, $X, $LAST, 0
  \work   ld64 $a2:3, $MASKS, $mzero, MASK
  { mov   $X_AT, $X ; and64 $a0:1, $a0:1, $a2:3 }
  f32v2mac $a0:1, $a0:1
  brz     $FURTHER, .L\name\()_squared
  ld64step $a4:5, $mzero, $X_AT+=, 1
  ALIGNED_RPT \name, $BUT_TWO, squares
.L\name\()_squares:
  \work   ld64step $a4:5, $mzero, $X_AT+=, 1
  { nop ; f32v2mac $a0:1, $a0:1 }
.L\name\()_squares_end:
  \work   nop
  f32v2mac $a0:1, $a0:1
.L\name\()_squared:
  TAKE_SUM
.endm

.macro SINGLE_RMS_ATOM load:vararg
  { ld64step $a2:3, $mzero, $GAIN_AT+=, 1 ; f32v2mul $a0:1, $a6:B, $a4:5 }
  { \load ; f32v2mul $a0:1, $a0:1, $a2:3 }
.endm

  VECTOR_SUPERVISOR layer_norm_f32, m2, m3, m4, m5, m6, m7, m8
  ROW_WORKER layer_norm_f32, singles
  CLEAR_SUMS
  // The mean, negative, to $a7.
  ld64    $a0:1, $X, $LAST, 0
  ld64    $a2:3, $MASKS, $mzero, MASK
  { mov   $X_AT, $X ; and64 $a0:1, $a0:1, $a2:3 }
  zero    $a2:3
  ALIGNED_RPT layer_norm_f32, $FURTHER, sum
.Llayer_norm_f32_sum:
  { ld64step $a0:1, $mzero, $X_AT+=, 1 ; f32v2add $a2:3, $a2:3, $a0:1 }
.Llayer_norm_f32_sum_end:
  f32v2add $a2:3, $a2:3, $a0:1
  f32add  $a0, $a2, $a3
  RECIPROCAL_OF_N
  f32mul  $a7, $a0, $a6
  f32sub  $a7, $azero, $a7
  SUM_OF_SINGLE_SQUARES layer_norm_f32, MOVED
  SCALE_OF LAYER_EPSILON
  ld32    $GAIN_AT, $mvertex_base, $mzero, STATE_GAIN
  ld32    $BIAS_AT, $mvertex_base, $mzero, LAYER_BIAS
  APPLY layer_norm_f32, SINGLE_LAYER_ATOM
  ROW_END layer_norm_f32

  VECTOR_SUPERVISOR rms_norm_f32, m2, m3, m4, m5, m6, m7
  ROW_WORKER rms_norm_f32, singles
  CLEAR_SUMS
  SUM_OF_SINGLE_SQUARES rms_norm_f32, UNMOVED
  SCALE_OF RMS_EPSILON
  ld32    $GAIN_AT, $mvertex_base, $mzero, STATE_GAIN
  APPLY rms_norm_f32, SINGLE_RMS_ATOM
  ROW_END rms_norm_f32
