// Sums of blocks: z = x[0] + x[1] + … + x[blocks - 1], element by element.
//
//   sum_f16: halves, added up in singles and rounded once
//   sum_f32: singles, added in order
//   sum_f32_f16: blocks of singles, added in order, to halves
//     $m2 z, $m3 x   byte addresses, multiples of 8; where types are equal, z may be the first block
//     $m4 pitch      atoms from a block to the next; for sum_f32_f16 an even number
//     $m5 blocks     at least 1
//     $m6 atoms      of z
//
// A worker takes every sixth atom of z; a bundle for each atom of a block.

#include "vector.inc"

#define PITCH   m6
#define FURTHER m7
#define AT      m8

// Registers with the worker's first atoms, further blocks and further atoms.
.macro SUM_START name
  VECTOR_SUPERVISOR \name, m2, m3, m4, m5, m6
  VECTOR_WORKER \name, X, PITCH, FURTHER
  add     $X, $X, $WORKER
  add     $FURTHER, $FURTHER, -1
  add     $COUNT, $COUNT, -1
.endm

  SUM_START sum_f16
  setzi   $a7, 1 << CSR_W_FP_CLR__ZAACC__SHIFT
.Lsum_f16_atom:
  { mov   $AT, $X ; uput $FP_CLR, $a7 }
  ld64step $X_ATOM, $mzero, $AT+=, $PITCH
  ALIGNED_RPT sum_f16, $FURTHER, loop
.Lsum_f16_loop:
  { ld64step $X_ATOM, $mzero, $AT+=, $PITCH ; f16v4acc $X_ATOM }
.Lsum_f16_loop_end:
  { add   $X, $X, 8 * CTXT_WORKERS ; f16v4acc $X_ATOM }
  f16v4gacc $Z_ATOM
  KEEP_Z
  brnzdec $COUNT, .Lsum_f16_atom
  VECTOR_END sum_f16

  SUM_START sum_f32
.Lsum_f32_atom:
  { mov   $AT, $X ; zero $Z_ATOM }
  ld64step $X_ATOM, $mzero, $AT+=, $PITCH
  ALIGNED_RPT sum_f32, $FURTHER, loop
.Lsum_f32_loop:
  { ld64step $X_ATOM, $mzero, $AT+=, $PITCH ; f32v2add $Z_ATOM, $Z_ATOM, $X_ATOM }
.Lsum_f32_loop_end:
  { add   $X, $X, 8 * CTXT_WORKERS ; f32v2add $Z_ATOM, $Z_ATOM, $X_ATOM }
  KEEP_Z
  brnzdec $COUNT, .Lsum_f32_atom
  VECTOR_END sum_f32

  VECTOR_SUPERVISOR sum_f32_f16, m2, m3, m4, m5, m6
  VECTOR_WORKER sum_f32_f16, X, PITCH, FURTHER
  add     $X, $X, $WORKER
  add     $X, $X, $WORKER
  add     $PITCH, $PITCH, -1
  add     $FURTHER, $FURTHER, -1
  { add   $COUNT, $COUNT, -1 ; setzi $a7, 1 << CSR_W_FP_CLR__ZAACC__SHIFT }
.Lsum_f32_f16_atom:
  { mov   $AT, $X ; uput $FP_CLR, $a7 }
  ld64step $a0:1, $mzero, $AT+=, 1
  ld64step $a2:3, $mzero, $AT+=, $PITCH
  ALIGNED_RPT sum_f32_f16, $FURTHER, loop
.Lsum_f32_f16_loop:
  { ld64step $a0:1, $mzero, $AT+=, 1 ; f32v4acc $a0:3 }
  { ld64step $a2:3, $mzero, $AT+=, $PITCH ; fnop }
.Lsum_f32_f16_loop_end:
  { add   $X, $X, 16 * CTXT_WORKERS ; f32v4acc $a0:3 }
  f16v4gacc $Z_ATOM
  KEEP_Z
  brnzdec $COUNT, .Lsum_f32_f16_atom
  VECTOR_END sum_f32_f16
