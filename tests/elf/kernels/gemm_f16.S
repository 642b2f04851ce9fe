// gemm_f16: C[rows][16] += A[rows][depth] * B[depth][16], on halves, six workers.
//
// A kernel for the tests of the assembler: it uses as much of the language as real kernels do. It is
// laid out after the AMP's rules, but nothing has run it.
//
// Supervisor:  $m2  C        16 channels a row, interleaved memory, multiple of 16 bytes
//              $m3  A        `depth` halves a row, multiple of 8 bytes
//              $m4  B        blocks of 64 weight entries, in the order of the weight store
//              $m5  rows
//              $m6  blocks   depth / 16; 0 leaves C alone
//              $lr  return address

#include "gemm_f16.h"

#define KERNEL(part) __runCodelet_gemm__f16___##part
#define ENTRY KERNEL(supervisor)
#define WORKER_ENTRY KERNEL(worker)

// ---------------------------------------------------------------------------------------------
// Supervisor
// ---------------------------------------------------------------------------------------------

#define C_BASE   m2
#define A_BASE   m3
#define B_BASE   m4
#define ROWS     m5
#define BLOCKS   m6
#define STATE    m7
#define CODE     m8
#define SCRATCH  m1

// All 64 entries of the weight store: entry 4m + n, two at a time.
.macro LOAD_WEIGHT_ROW row
  ld128putcs $CWEI_\row\()_0
  ld128putcs $CWEI_\row\()_2
.endm

.macro LOAD_WEIGHTS
  .irp row, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    LOAD_WEIGHT_ROW \row
  .endr
.endm

.macro STORE_STATE register:req field:req
  st32 $\register, $STATE, $mzero, \field
.endm

  .section .text.ENTRY, "ax", @progbits
  .globl  ENTRY
  .type   ENTRY, @function
  .supervisor
  .align  8
DEF_STACK_USAGE STACK_BYTES ENTRY
ENTRY:
  add     $sp, $sp, -STACK_BYTES
  st32    $lr, $sp, $mzero, 0
  st32    $fp, $sp, $mzero, 1
  setzi   $STATE, gemm_state
  setzi   $CODE, WORKER_ENTRY
  // Conversions round to nearest even while the accumulators run.
  get     $fp, $FP_ICTL
  ldconst $SCRATCH, ~(1 << CSR_S_FP_ICTL__ESR__SHIFT) & 0xffffffff
  and     $SCRATCH, $fp, $SCRATCH
  put     $FP_ICTL, $SCRATCH
  STORE_STATE C_BASE STATE_C
  STORE_STATE A_BASE, STATE_A
  STORE_STATE register=ROWS field=STATE_ROWS
  shl     $SCRATCH, $BLOCKS, 5               // bytes of a row of A
  STORE_STATE SCRATCH, STATE_PITCH
  put     $CCCSLOAD, $B_BASE
  brz     $BLOCKS, .Ldone
.Lblock:
  LOAD_WEIGHTS
  runall  $CODE, $STATE, 0
  sync    TEXCH_SYNCZONE_LOCAL
  add     $A_BASE, $A_BASE, BLOCK_HALVES * 2
  STORE_STATE A_BASE STATE_A
  add     $BLOCKS, $BLOCKS, -1
  brnz    $BLOCKS, .Lblock
.Ldone:
  put     $FP_ICTL, $fp
  ld32    $fp, $sp, $mzero, 1
  ld32    $lr, $sp, $mzero, 0
  add     $sp, $sp, STACK_BYTES
  br      $lr
  .size   ENTRY, . - ENTRY

#undef C_BASE
#undef A_BASE
#undef B_BASE
#undef ROWS
#undef BLOCKS
#undef STATE
#undef CODE
#undef SCRATCH

// ---------------------------------------------------------------------------------------------
// Workers: worker w takes the rows w, w + 6, w + 12, …
// ---------------------------------------------------------------------------------------------

#define INDEX     m0
#define COUNT     m1
#define A_PTR     m2
#define C_PTR     m3
#define PITCH     m4
#define STRIDES   m5
#define ADDRESSES m6:7
#define TEMP      m8
#define LOOPS     m9

#define X0        a0:1
#define X1        a2:3
#define PARTIAL   a4:5
#define RESULT    a6:7
#define QUAD      a0:3
#define ZEROS     a14:15

/* One step of the AMP: 4 lanes of x, 16 channels.
 * `main` shares its bundle, so that the loads of the next step are free. */
.macro AMP x flag main:vararg
  {
    \main
    f16v4hihov4amp $RESULT, $\x, $PARTIAL, \flag
  }
.endm

// The four steps of one row, each loading a vector of x and the next partials and storing a result.
.macro ROW_STEPS
  AMP X0, TAMP_F16V4_E4_P0, ld2xst64pace $QUAD, $RESULT, $ADDRESSES+=, $STRIDES, PACE_SELECT(0, 0, 0)
  AMP X0, TAMP_F16V4_E4_P1, ld2xst64pace $QUAD, $RESULT, $ADDRESSES+=, $STRIDES, PACE_SELECT(0, 0, 0)
  AMP X0, TAMP_F16V4_E4_P2, ld2xst64pace $QUAD, $RESULT, $ADDRESSES+=, $STRIDES, PACE_SELECT(0, 0, 0)
  AMP X0, TAMP_F16V4_E4_P3, ld2xst64pace $QUAD, $RESULT, $ADDRESSES+=, $STRIDES, PACE_SELECT(1, 2, 2)
.endm

// A repeat whose body is aligned whichever word it stands at.
.macro ALIGNED_RPT count size
  .if (. - WORKER_ENTRY) & 7
    rpt   \count, \size
  .else
    {
      rpt \count, \size
      fnop
    }
  .endif
.endm

.macro LOAD_STATE register, field
  ld32    $\register, $mvertex_base, $mzero, \field
.endm

  .section .text.WORKER_ENTRY, "ax", FUNCTION_IS_WORKER
  .globl  WORKER_ENTRY
  .type   WORKER_ENTRY, @function
  .worker
  .align  8
DEF_STACK_USAGE 0 WORKER_ENTRY
WORKER_ENTRY:
  get     $INDEX, $WSR
  {
    and   $INDEX, $INDEX, CSR_W_WSR__CTXTID_M1__MASK
    setzi $a0, 1 << CSR_W_FP_CLR__ZAACC__SHIFT
  }
  {
    LOAD_STATE COUNT STATE_ROWS
    uput  $FP_CLR, $a0
  }
  // Rows of this worker: (rows + 5 - index) / 6, by a multiplication that is exact for 16 bits.
  sub     $COUNT, $COUNT, $INDEX
  add     $COUNT, $COUNT, CTXT_WORKERS - 1
  ldconst $TEMP, DIVISION_MAGIC
  mul     $COUNT, $COUNT, $TEMP
  shr     $COUNT, $COUNT, DIVISION_SHIFT
  cmpslt  $TEMP, $COUNT, 1
  brnz    $TEMP, .Lexit

  LOAD_STATE PITCH STATE_PITCH
  LOAD_STATE A_PTR, STATE_A
  LOAD_STATE C_PTR, STATE_C
  mul     $TEMP, $INDEX, $PITCH
  add     $A_PTR, $A_PTR, $TEMP
  shl     $TEMP, $INDEX, LOG2_CHANNEL_BYTES
  add     $C_PTR, $C_PTR, $TEMP

  // Strides of the packed addresses, in steps of 8 bytes: the next row of this worker.
  mul     $PITCH, $PITCH, CTXT_WORKERS
  shr     $TEMP, $PITCH, 3
  add     $TEMP, $TEMP, -(BLOCK_HALVES / 4 - 1)
  and     $TEMP, $TEMP, STRIDE_MASK
  ldconst $STRIDES, ((CTXT_WORKERS - 1) * CHANNELS / 4 + 1) << STRIDE_BITS
  or      $STRIDES, $STRIDES, $TEMP
  tapack  $ADDRESSES, $A_PTR, $C_PTR, $C_PTR

  // Warm-up: the partials of the first row go in while x is zero.
  mov     $LOOPS, $COUNT
  zero    $X0
  { ld64  $PARTIAL, $C_PTR, $mzero, 0 ; zero $X1 }
  .irp    phase, 1, 2, 3
    {
      ld64 $PARTIAL, $C_PTR, $mzero, \phase
      f16v4hihov4amp $RESULT, $X1, $PARTIAL, TAMP_F16V4_E4_P0
    }
  .endr
  { ld64step $X0, $mzero, $A_PTR+=, 1
    f16v4hihov4amp $RESULT, $ZEROS, $PARTIAL, TAMP_F16V4_E4_P1 }
  ld2x64pace $X0, $X1, $ADDRESSES+=, $mzero, 0b0000

  add     $LOOPS, $LOOPS, -1
  ALIGNED_RPT $LOOPS (2f - 1f) / 8 - 1
1:
  ROW_STEPS
2:

  // The last row: its results leave while x is zero again.
  .set    step, 0
  .rept   4
    .if   step < 3
      { st64pace $RESULT, $ADDRESSES+=, $STRIDES, 0
        f16v4hihov4amp $RESULT, $ZEROS, $ZEROS, TAMP_F16V4_E4_P0 }
    .else
      st64pace $RESULT, $ADDRESSES+=, $STRIDES, 0
    .endif
    .set  step, step + 1
  .endr

  // Leftovers one by one: a loop with a branch, for rows that share no bundle.
  mov     $LOOPS, $COUNT
  bri     3f
4:
  ldz16step $TEMP, $mzero, $A_PTR+=, 1
  { ldb16step $a0, $mzero, $A_PTR+=, -1 ; f16v2add $a1, $a0:BL, $a1 }
  { stm32 $TEMP, $C_PTR, $PITCH ; f16v4absmax $RESULT, $PARTIAL, $X0 }
  { st32step $a1, $mzero, $C_PTR+=, 2 ; f32v2add $X0, $a2:B, $X1 }
3:
  brnzdec $LOOPS, 4b

.Lexit:
  exitz   $mzero
  .size   WORKER_ENTRY, . - WORKER_ENTRY

// ---------------------------------------------------------------------------------------------
// A scaling pass over C: all halves times alpha, with a table of variants.
// ---------------------------------------------------------------------------------------------

#define VARIANT(type) scale_##type

.macro SCALE_LOOP name operation
  .section .text.\name, "ax"
  .globl  \name
  .type   \name, @function
  .align  8
\name:
  ld32    $m0, $mvertex_base, STATE_C
  ld32    $m1, $mvertex_base, STATE_ROWS
  ld64    $a2:3, $mvertex_base, $mzero, STATE_ALPHA / 2
  ld64    $a0:1, $m0, $mzero, 0
  // The repeat's own bundle runs once, before its body.
  .ifc    "\operation", "clamp"
    { rpt $m1, (end\@ - body\@) / 8 - 1 ; f16v4clamp $a4:5, $a0:1, $a2 }
  .elseif 1
    { rpt $m1, (end\@ - body\@) / 8 - 1 ; f16v4\operation $a4:5, $a2:BL, $a0:1 }
  .else
    .error "unreachable"
  .endif
body\@:
  { ld64 $a0:1, $m0, $mzero, 1 ; fnop }
  .ifc \operation, clamp
  { st64step $a4:5, $mzero, $m0+=, 1 ; f16v4clamp $a4:5, $a0:1, $a2 }
  .else
  { st64step $a4:5, $mzero, $m0+=, 1 ; f16v4\operation $a4:5, $a2:BL, $a0:1 }
  .endif
end\@:
  exitz   $mzero
  .size   \name, . - \name
  DEF_STACK_SIZE_OWN 0 \name
.endm

  SCALE_LOOP VARIANT(mul) mul
  SCALE_LOOP VARIANT(add) add
  SCALE_LOOP VARIANT(sub), sub
  SCALE_LOOP VARIANT(clamp), operation=clamp

#if defined(VECTOR_AVAIL_F8) && !defined(NO_QUARTER)
  .section .text.quarter, "ax"
  .align  8
quarter:
  { ld64  $X0, $m0, $mzero, 0 ; f8v4tof16 $a4:5, $a8 }
  { nop   ; f8v8hihov4amp $RESULT, $X0, $PARTIAL, TAMP_F8V8_E4_P2 }
  { nop   ; f16v8tof8 $a8:9, $a4:7 }
  exitz   $mzero
#else
#error "the quarter-precision part needs VECTOR_AVAIL_F8"
#endif

// ---------------------------------------------------------------------------------------------
// Data
// ---------------------------------------------------------------------------------------------

  .section .data.gemm_state, "aw", @progbits
  .align  8
  .type   gemm_state, @object
gemm_state:
  .space  4 * STATE_WORDS
  .size   gemm_state, . - gemm_state

  .section .data.gemm_table, "a"
  .align  4
  .globl  gemm_table
gemm_table:
  .long   VARIANT(mul), VARIANT(add), VARIANT(sub), VARIANT(clamp)
gemm_table_end:
  .long   (gemm_table_end - gemm_table) / 4
  .half   1.0h
  .half   -0.5h
  .half   (gemm_state)@relative@16@s2
  .align  4
gemm_name:
  .asciz  "gemm; f16 { six workers }"   # neither a bundle nor two statements
