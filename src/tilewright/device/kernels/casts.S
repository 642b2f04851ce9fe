// Casts, element by element, from one array to another that does not overlap it.
//
//   cast_f16_f32, cast_f32_f16:
//     $m2 z, $m3 x   byte addresses, multiples of 8
//     $m4 atoms      64-bit atoms of the array of wider elements
//   cast_f8_f16, cast_f16_f8:
//     $m5 format     bit 7: 1 for F143, 0 for F152; bits 5:0: the signed exponent e of a scale. An
//                    element means value · 2**e
//
// Conversions round to nearest even, and what is too large is treated as $FP_ICTL says. A worker
// takes an atom of narrow elements, and the two of wide ones, at a time; the last pair of wide atoms
// may be half a pair.

#include "vector.inc"

#define END m7

#define WIDE_NEXT (2 * CTXT_WORKERS - 1)

// The state of casts from and to quarters goes on with the scale and the format, as control registers
// take them. FP_NFMT has a bit for weights and one for registers.
.macro QUARTER_SUPERVISOR name negated
  VECTOR_FUNCTION \name
  shr     $m6, $m5, 7
  .if \negated
  sub     $m5, $mzero, $m5
  .endif
  mul     $m6, $m6, CSR_W_FP_NFMT__CWEI_FMT__MASK | CSR_W_FP_NFMT__ARF_FMT__MASK << CSR_W_FP_NFMT__ARF_FMT__SHIFT
  and     $m5, $m5, CSR_W_FP_SCL__SCALE__MASK
  VECTOR_LAUNCH \name, m2, m3, m4, m5, m6
.endm

.macro SET_QUARTERS
  ld32    $a0, $mvertex_base, $mzero, 3
  { ld32 $a1, $mvertex_base, $mzero, 4 ; uput $FP_SCL, $a0 }
  uput    $FP_NFMT, $a1
.endm

// END: where the wide array ends. COUNT: pairs of wide atoms of this worker. WORKER and SCRATCH: where
// its first narrow and wide atoms lie.
.macro TAKE_PAIRS name wide
  WORKER_START \name
  ld32    $Z, $mvertex_base, $mzero, 0
  ld32    $X, $mvertex_base, $mzero, 1
  ld32    $COUNT, $mvertex_base, $mzero, 2
  shl     $END, $COUNT, 3
  add     $END, $END, $\wide
  add     $COUNT, $COUNT, 1
  shr     $COUNT, $COUNT, 1
  TAKE_SHARE
  brz     $COUNT, .L\name\()_done
  shl     $SCRATCH, $WORKER, 4
  shl     $WORKER, $WORKER, 3
.endm

// Narrow to wide: `convert` takes half of the atom in $a0:1 to an atom.
.macro WIDEN name convert set_format=
  TAKE_PAIRS \name, Z
  \set_format
  add     $X, $X, $WORKER
  add     $Z, $Z, $SCRATCH
  ld64step $a0:1, $mzero, $X+=, CTXT_WORKERS
  { add   $COUNT, $COUNT, -1 ; \convert $a4:5, $a0 }
  ALIGNED_RPT \name, $COUNT, loop
.L\name\()_loop:
  { ld64step $a0:1, $mzero, $X+=, CTXT_WORKERS ; \convert $a6:7, $a1 }
  { st64step $a4:5, $mzero, $Z+=, 1 ; \convert $a4:5, $a0 }
  { st64step $a6:7, $mzero, $Z+=, WIDE_NEXT ; fnop }
.L\name\()_loop_end:
  { st64step $a4:5, $mzero, $Z+=, 1 ; \convert $a6:7, $a1 }
  cmpult  $SCRATCH, $Z, $END
  brz     $SCRATCH, .L\name\()_done
  st64    $a6:7, $Z, $mzero, 0
  VECTOR_END \name
.endm

// Wide to narrow: `convert` takes the pair of atoms in $a0:3 to one.
.macro NARROW name convert set_format=
  TAKE_PAIRS \name, X
  \set_format
  add     $Z, $Z, $WORKER
  add     $X, $X, $SCRATCH
  ld64step $a0:1, $mzero, $X+=, 1
  add     $COUNT, $COUNT, -1
  ALIGNED_RPT \name, $COUNT, loop
.L\name\()_loop:
  { ld64step $a2:3, $mzero, $X+=, WIDE_NEXT ; fnop }
  { ld64step $a0:1, $mzero, $X+=, 1 ; \convert $a4:5, $a0:3 }
  { st64step $a4:5, $mzero, $Z+=, CTXT_WORKERS ; fnop }
.L\name\()_loop_end:
  { cmpult $SCRATCH, $X, $END ; zero $a2:3 }
  brz     $SCRATCH, .L\name\()_last
  ld64    $a2:3, $X, $mzero, 0
.L\name\()_last:
  \convert $a4:5, $a0:3
  st64step $a4:5, $mzero, $Z+=, CTXT_WORKERS
  VECTOR_END \name
.endm

  VECTOR_SUPERVISOR cast_f16_f32, m2, m3, m4
  WIDEN cast_f16_f32, f16v2tof32
  VECTOR_SUPERVISOR cast_f32_f16, m2, m3, m4
  NARROW cast_f32_f16, f32v4tof16
  QUARTER_SUPERVISOR cast_f8_f16, 0
  WIDEN cast_f8_f16, f8v4tof16, SET_QUARTERS
  QUARTER_SUPERVISOR cast_f16_f8, 1
  NARROW cast_f16_f8, f16v8tof8, SET_QUARTERS
