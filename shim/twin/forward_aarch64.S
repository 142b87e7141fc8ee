/* SPDX-License-Identifier: BSD-2-Clause */
/* forward_aarch64.S: see forward.c. No driver call takes more than the registers saved here, and the stack, which is not touched. */
	.set	number, 0

	.macro	PASS_ON name
	.text
	.globl	\name
	.type	\name, %function
	.p2align 4
\name:
	adrp	x16, place_\name
	ldr	x16, [x16, #:lo12:place_\name]
	br	x16
	.size	\name, . - \name
first_\name:
	mov	w17, #number
	b	find
	.data
place_\name:
	.quad	first_\name
	.set	number, number + 1
	.endm

	.data
	.p2align 3
	.globl	gpushim_forward_places
	.hidden	gpushim_forward_places
gpushim_forward_places:

	.text
	.type	find, %function
	.p2align 4
find:
	.cfi_startproc
	stp	x29, x30, [sp, #-224]!
	.cfi_def_cfa_offset 224
	.cfi_offset 29, -224
	.cfi_offset 30, -216
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	str	x8, [sp, #80]
	stp	q0, q1, [sp, #96]
	stp	q2, q3, [sp, #128]
	stp	q4, q5, [sp, #160]
	stp	q6, q7, [sp, #192]
	mov	w0, w17
	bl	gpushim_forward_find
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldp	x2, x3, [sp, #32]
	ldp	x4, x5, [sp, #48]
	ldp	x6, x7, [sp, #64]
	ldr	x8, [sp, #80]
	ldp	q0, q1, [sp, #96]
	ldp	q2, q3, [sp, #128]
	ldp	q4, q5, [sp, #160]
	ldp	q6, q7, [sp, #192]
	ldp	x29, x30, [sp], #224
	.cfi_def_cfa_offset 0
	br	x16
	.cfi_endproc
	.size	find, . - find

#define PASS(name, reason) PASS_ON name
#include "not_hooked.def"

	.section .note.GNU-stack, "", %progbits
