/* SPDX-License-Identifier: BSD-2-Clause */
/* dlsym(handle, name): see dlsym_x86_64.S. */
	.text
	.globl	dlsym
	.type	dlsym, %function
	.p2align 4
dlsym:
	.cfi_startproc
	hint	#34			/* bti c: a place to jump to */
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	stp	x0, x1, [sp, #16]
	mov	x29, sp
	mov	x2, x30			/* the caller */
	bl	gpushim_dlsym_hook	/* struct of two words: x0 = result, x1 = final */
	mov	x9, x1
	cbnz	x9, 1f
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	adrp	x16, gpushim_real_dlsym
	ldr	x16, [x16, #:lo12:gpushim_real_dlsym]
	br	x16
1:	ldp	x29, x30, [sp], #32
	ret
	.cfi_endproc
	.size	dlsym, .-dlsym
#ifdef __ARM_FEATURE_BTI_DEFAULT		/* what the compiler says of its own functions: BTI may stay on */
	.pushsection .note.gnu.property, "a"
	.balign	8
	.long	4, 16, 5		/* size of the name, of what follows it, NT_GNU_PROPERTY_TYPE_0 */
	.asciz	"GNU"
	.long	0xc0000000, 4, 1, 0	/* GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI */
	.popsection
#endif
	.section .note.GNU-stack, "", %progbits
