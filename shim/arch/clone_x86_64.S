/* SPDX-License-Identifier: BSD-2-Clause */
/* long gpushim_clone(unsigned long flags, void *stack, void (*work)(void *), void *arg): clone(2) for apart.c. The new thread does
 * work(arg) on its stack (16-byte aligned) and ends. Not libc's clone, which sanitizers and others replace by their own. */
#ifdef __CET__
#include <cet.h> /* as in arch/dlsym_x86_64.S: one file without it takes the mark from the whole library */
#endif
	.text
	.globl	gpushim_clone
	.hidden	gpushim_clone
	.type	gpushim_clone, @function
	.p2align 4
gpushim_clone:
	.cfi_startproc
	endbr64
	movq	%rdx, -16(%rsi)
	movq	%rcx, -8(%rsi)
	subq	$16, %rsi
	xorl	%edx, %edx		/* no thread ids to be written, no thread-local storage of its own */
	xorl	%r10d, %r10d
	xorl	%r8d, %r8d
	movl	$56, %eax		/* clone */
	syscall
	testq	%rax, %rax
	jz	1f
	ret
1:	.cfi_undefined rip		/* the stack of the new thread ends here */
	xorl	%ebp, %ebp
	popq	%rax
	popq	%rdi
	call	*%rax
	xorl	%edi, %edi
	movl	$60, %eax		/* exit, of this thread alone */
	syscall
	hlt
	.cfi_endproc
	.size	gpushim_clone, .-gpushim_clone
	.section .note.GNU-stack, "", @progbits
