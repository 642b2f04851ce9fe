// Zeros and copies of whole atoms.
//
//   zero:          $m2 z, $m3 atoms
//   copy:          $m2 z, $m3 x, $m4 atoms
//   copy_apart:    the same, for z and x that share no memory element: twice as fast
//   copy_strided:  $m2 z, $m3 x, $m4 pitch of z, $m5 pitch of x, $m6 width, $m7 rows (at least 1)
//                  rows of `width` atoms (at least 1), `pitch` atoms from row to row
//
// Addresses are multiples of 8. z and x do not overlap.

#include "vector.inc"

  VECTOR_SUPERVISOR zero, m2, m3
  VECTOR_WORKER zero
  ALIGNED_RPT zero, $COUNT, loop
.Lzero_loop:
  { st64step $azeros, $mzero, $Z+=, CTXT_WORKERS ; fnop }
.Lzero_loop_end:
  VECTOR_END zero

  VECTOR_SUPERVISOR copy, m2, m3, m4
  VECTOR_WORKER copy, X
  add     $X, $X, $WORKER
  ALIGNED_RPT copy, $COUNT, loop
.Lcopy_loop:
  { NEXT_X ; fnop }
  { st64step $X_ATOM, $mzero, $Z+=, CTXT_WORKERS ; fnop }
.Lcopy_loop_end:
  VECTOR_END copy

#define ATOMS   m6:7
#define STRIDES m8

  VECTOR_SUPERVISOR copy_apart, m2, m3, m4
  VECTOR_WORKER copy_apart, X
  add     $X, $X, $WORKER
  NEXT_X
  tapack  $ATOMS, $X, $mzero, $Z
  setzi   $STRIDES, CTXT_WORKERS
  add     $COUNT, $COUNT, -1
  ALIGNED_RPT copy_apart, $COUNT, loop
.Lcopy_apart_loop:
  { ldst64pace $X_ATOM, $X_ATOM, $ATOMS+=, $STRIDES, 0b0101 ; fnop }
.Lcopy_apart_loop_end:
  st64pace $X_ATOM, $ATOMS+=, $STRIDES, 0b01
  VECTOR_END copy_apart

#define Z_NEXT  m6
#define X_NEXT  m7
#define WIDTH   m8
#define LEFT    m9

  VECTOR_SUPERVISOR copy_strided, m2, m3, m4, m5, m6, m7
  WORKER_START copy_strided
  ld32    $COUNT, $mvertex_base, $mzero, 5
  TAKE_SHARE
  brz     $COUNT, .Lcopy_strided_done
  add     $LEFT, $COUNT, -1
  ld32    $Z, $mvertex_base, $mzero, 0
  ld32    $X, $mvertex_base, $mzero, 1
  ld32    $Z_NEXT, $mvertex_base, $mzero, 2
  ld32    $X_NEXT, $mvertex_base, $mzero, 3
  ld32    $WIDTH, $mvertex_base, $mzero, 4
  shl     $Z_NEXT, $Z_NEXT, 3
  shl     $X_NEXT, $X_NEXT, 3
  mul     $SCRATCH, $WORKER, $Z_NEXT
  add     $Z, $Z, $SCRATCH
  mul     $SCRATCH, $WORKER, $X_NEXT
  add     $X, $X, $SCRATCH
  mul     $Z_NEXT, $Z_NEXT, CTXT_WORKERS
  mul     $X_NEXT, $X_NEXT, CTXT_WORKERS
.Lcopy_strided_row:
  mov     $WORKER, $X
  mov     $Y, $Z
  ALIGNED_RPT copy_strided, $WIDTH, loop
.Lcopy_strided_loop:
  { ld64step $X_ATOM, $mzero, $WORKER+=, 1 ; fnop }
  { st64step $X_ATOM, $mzero, $Y+=, 1 ; fnop }
.Lcopy_strided_loop_end:
  add     $X, $X, $X_NEXT
  add     $Z, $Z, $Z_NEXT
  brnzdec $LEFT, .Lcopy_strided_row
  VECTOR_END copy_strided
