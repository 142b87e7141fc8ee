/* SPDX-License-Identifier: BSD-2-Clause */
/* data_inflate.js: zlib's bytes of a short column. The browser's own stream takes half a millisecond to set up, and a page of many ranks has thousands
 * of short columns; long ones are the browser's. The bytes are our own (html_pack.c): what is wrong with them is an error, not a case. */
"use strict";

(function () {
	const LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
	const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
	const DISTANCES = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
	const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]; /* of the code lengths' own lengths */

	/* Canonical codes: how many there are of each length, and whose they are, in their order. */
	function codes(lengths) {
		const counts = new Uint16Array(16), starts = new Uint16Array(16), symbols = new Uint16Array(lengths.length);

		for (const n of lengths)
			counts[n]++;
		counts[0] = 0;
		for (let n = 1; n < 16; n++)
			starts[n] = starts[n - 1] + counts[n - 1];
		lengths.forEach((n, symbol) => {
			if (n)
				symbols[starts[n]++] = symbol;
		});
		return { counts, symbols };
	}

	const times = (n, v) => new Array(n).fill(v);
	const FIXED = [codes([...times(144, 8), ...times(112, 9), ...times(24, 7), ...times(8, 8)]), codes(times(30, 5))];

	class Bits {
		constructor(bytes) {
			this.bytes = bytes;
			this.at = 16; /* behind zlib's two bytes */
		}

		bit() {
			if (this.at >> 3 >= this.bytes.length)
				throw new Error("a column ends too early");
			const bit = this.bytes[this.at >> 3] >> (this.at & 7) & 1;

			this.at++;
			return bit;
		}

		number(n) {
			let v = 0;

			for (let i = 0; i < n; i++)
				v |= this.bit() << i;
			return v;
		}

		symbol(of) {
			let code = 0, first = 0, index = 0;

			for (let n = 1; n < 16; n++) {
				const count = of.counts[n];

				code |= this.bit();
				if (code - first < count)
					return of.symbols[index + code - first];
				index += count;
				first = first + count << 1;
				code <<= 1;
			}
			throw new Error("a column has a code that is none");
		}
	}

	function own_codes(bits) {
		const n = bits.number(5) + 257, distances = bits.number(5) + 1, own = times(19, 0), lengths = [];

		for (let i = 0, count = bits.number(4) + 4; i < count; i++)
			own[ORDER[i]] = bits.number(3);
		const of = codes(own);
		while (lengths.length < n + distances) {
			const symbol = bits.symbol(of);

			if (symbol < 16)
				lengths.push(symbol);
			else if (symbol === 16)
				lengths.push(...times(3 + bits.number(2), lengths[lengths.length - 1]));
			else
				lengths.push(...times(symbol === 17 ? 3 + bits.number(3) : 11 + bits.number(7), 0));
		}
		return [codes(lengths.slice(0, n)), codes(lengths.slice(n, n + distances))];
	}

	function block(bits, out, [literals, distances]) {
		for (;;) {
			const symbol = bits.symbol(literals);

			if (symbol === 256)
				return;
			if (symbol < 256) {
				out.push(symbol);
				continue;
			}
			const length = LENGTHS[symbol - 257] + bits.number(LENGTH_BITS[symbol - 257]), far = bits.symbol(distances);
			const back = DISTANCES[far] + bits.number(Math.max(0, (far >> 1) - 1));

			for (let i = 0; i < length; i++)
				out.push(out[out.length - back]);
		}
	}

	function stored(bits, out) {
		bits.at = bits.at + 7 & ~7;
		const n = bits.number(16);

		bits.at += 16;
		for (let i = 0; i < n; i++)
			out.push(bits.number(8));
	}

	gpushim.inflate_short = function (bytes) {
		const bits = new Bits(bytes), out = [];
		let last = false;

		while (!last) {
			last = bits.bit() === 1;
			const kind = bits.number(2);

			if (kind === 0)
				stored(bits, out);
			else
				block(bits, out, kind === 1 ? FIXED : own_codes(bits));
		}
		return Uint8Array.from(out);
	};
})();
