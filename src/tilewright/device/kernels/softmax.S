// softmax_f16, softmax_f32: z = exp(x - m) / sum of exp(x - m), m the largest of a row, row by row.
//
//   $m2 z, $m3 x   byte addresses, multiples of 8; z may be x. Rows start at multiples of 8
//   $m4 rows       at least 1
//   $m5 n          elements of a row, at least 1
//
// Exponentials and their sum are singles; halves are rounded before and after the division by the
// sum. Beyond n, z is 0.

#include "row_frame.inc"

  VECTOR_SUPERVISOR softmax_f16, m2, m3, m4, m5
  ROW_WORKER softmax_f16, halves
  // The last atom, with the least half where it is padded, is in $a4:5; the largest goes to $a2:3.
  ld64    $a0:1, $X, $LAST, 0
  ld64    $a2:3, $MASKS, $mzero, MASK
  { ld64  $a4:5, $MASKS, $mzero, LEAST ; and64 $a0:1, $a0:1, $a2:3 }
  { mov   $X_AT, $X ; or64 $a4:5, $a0:1, $a4:5 }
  { mov   $Z_AT, $Z ; mov $a2:3, $a4:5 }
  mov     $a0:1, $a4:5
  ALIGNED_RPT softmax_f16, $FURTHER, max
.Lsoftmax_f16_max:
  { ld64step $a0:1, $mzero, $X_AT+=, 1 ; f16v4max $a2:3, $a2:3, $a0:1 }
.Lsoftmax_f16_max_end:
  f16v4max $a2:3, $a2:3, $a0:1
  f16v4maxc $a2, $a2:3
  f16v2maxc $a2, $a2
  f16tof32 $a7, $a2
  f32sub  $a7, $azero, $a7
  CLEAR_SUMS

  // Four exponentials of $a4:5, to $a0:1; -m is in $a7.
.macro EXPONENTIALS load:vararg
  { nop ; f16v2tof32 $a2:3, $a5 }
  { nop ; f16v2tof32 $a0:1, $a4 }
  { nop ; f32v2add $a2:3, $a7:B, $a2:3 }
  { nop ; f32v2add $a0:1, $a7:B, $a0:1 }
  { nop ; f32exp $a0, $a0 }
  { nop ; f32exp $a1, $a1 }
  { nop ; f32exp $a2, $a2 }
  { nop ; f32exp $a3, $a3 }
  { \load ; f32v4acc $a0:3 }
  { nop ; f32v4tof16 $a0:1, $a0:3 }
.endm

  EXPONENTIALS mov $X_AT, $X
  st64    $a0:1, $Z, $LAST, 0
  brz     $FURTHER, .Lsoftmax_f16_summed
  ld64step $a4:5, $mzero, $X_AT+=, 1
  ALIGNED_RPT softmax_f16, $BUT_TWO, exp
.Lsoftmax_f16_exp:
  EXPONENTIALS ld64step $a4:5, $mzero, $X_AT+=, 1
  { st64step $a0:1, $mzero, $Z_AT+=, 1 ; fnop }
.Lsoftmax_f16_exp_end:
  EXPONENTIALS nop
  st64step $a0:1, $mzero, $Z_AT+=, 1
.Lsoftmax_f16_summed:
  TAKE_SUM
  f32oox  $a0, $a0
  { mov   $Z_AT, $Z ; f32tof16 $a6, $a0 }
  { mov   $X_AT, $Z ; fnop }
  ld64step $a0:1, $mzero, $X_AT+=, 1
  ALIGNED_RPT softmax_f16, $FURTHER, scale
.Lsoftmax_f16_scale:
  { ld64step $a0:1, $mzero, $X_AT+=, 1 ; f16v4mul $a2:3, $a6:BL, $a0:1 }
  { st64step $a2:3, $mzero, $Z_AT+=, 1 ; fnop }
.Lsoftmax_f16_scale_end:
  f16v4mul $a2:3, $a6:BL, $a0:1
  st64step $a2:3, $mzero, $Z_AT+=, 1
  ROW_END softmax_f16

  VECTOR_SUPERVISOR softmax_f32, m2, m3, m4, m5
  ROW_WORKER softmax_f32, singles
  ld64    $a0:1, $X, $LAST, 0
  ld64    $a2:3, $MASKS, $mzero, MASK
  { ld64  $a4:5, $MASKS, $mzero, LEAST ; and64 $a0:1, $a0:1, $a2:3 }
  { mov   $X_AT, $X ; or64 $a4:5, $a0:1, $a4:5 }
  { mov   $Z_AT, $Z ; mov $a2:3, $a4:5 }
  mov     $a0:1, $a4:5
  ALIGNED_RPT softmax_f32, $FURTHER, max
.Lsoftmax_f32_max:
  { ld64step $a0:1, $mzero, $X_AT+=, 1 ; f32v2max $a2:3, $a2:3, $a0:1 }
.Lsoftmax_f32_max_end:
  f32v2max $a2:3, $a2:3, $a0:1
  f32max  $a2, $a2, $a3
  f32sub  $a7, $azero, $a2

  // Two exponentials of $a4:5, to $a0:1; -m is in $a7.
.macro TWO_EXPONENTIALS load:vararg
  { nop ; f32v2add $a0:1, $a7:B, $a4:5 }
  { nop ; f32exp $a0, $a0 }
  { \load ; f32exp $a1, $a1 }
.endm

  TWO_EXPONENTIALS mov $X_AT, $X
  { st64  $a0:1, $Z, $LAST, 0 ; mov $a2:3, $a0:1 }
  brz     $FURTHER, .Lsoftmax_f32_summed
  ld64step $a4:5, $mzero, $X_AT+=, 1
  ALIGNED_RPT softmax_f32, $BUT_TWO, exp
.Lsoftmax_f32_exp:
  TWO_EXPONENTIALS ld64step $a4:5, $mzero, $X_AT+=, 1
  { st64step $a0:1, $mzero, $Z_AT+=, 1 ; f32v2add $a2:3, $a2:3, $a0:1 }
.Lsoftmax_f32_exp_end:
  TWO_EXPONENTIALS nop
  { st64step $a0:1, $mzero, $Z_AT+=, 1 ; f32v2add $a2:3, $a2:3, $a0:1 }
.Lsoftmax_f32_summed:
  f32add  $a6, $a2, $a3
  { mov   $Z_AT, $Z ; f32oox $a6, $a6 }
  mov     $X_AT, $Z
  ld64step $a0:1, $mzero, $X_AT+=, 1
  ALIGNED_RPT softmax_f32, $FURTHER, scale
.Lsoftmax_f32_scale:
  { ld64step $a0:1, $mzero, $X_AT+=, 1 ; f32v2mul $a2:3, $a6:B, $a0:1 }
  { st64step $a2:3, $mzero, $Z_AT+=, 1 ; fnop }
.Lsoftmax_f32_scale_end:
  f32v2mul $a2:3, $a6:B, $a0:1
  st64step $a2:3, $mzero, $Z_AT+=, 1
  ROW_END softmax_f32
