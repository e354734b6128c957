/**
 * Sums of floats without rounding: the same whatever the order, rounded once when they are read.
 */

const MANTISSA_BITS = 53;
/** Exponent of the least positive float. */
const LEAST_EXPONENT = -1074;
/** Floats below it can be added in pairs without overflow. */
const SAFE_MAGNITUDE = 2 ** 1000;

const bits = new DataView(new ArrayBuffer(8));

/** A finite float as `mantissa * 2 ** exponent`. */
export function partsOf(value: number): { readonly mantissa: bigint; readonly exponent: number } {
  bits.setFloat64(0, value);
  const high = bits.getUint32(0);
  const biased = (high >>> 20) & 0x7ff;
  const magnitude = (biased === 0 ? 0 : 2 ** 52) + (high & 0xfffff) * 2 ** 32 + bits.getUint32(4);
  return { mantissa: BigInt(high >>> 31 ? -magnitude : magnitude), exponent: Math.max(biased, 1) - 1075 };
}

/**
 * `mantissa * 2 ** exponent` as the nearest float, halves to the even one; beyond all, infinite.
 */
export function floatOf(mantissa: bigint, exponent: number): number {
  if (mantissa === 0n) return 0;
  const magnitude = mantissa < 0n ? -mantissa : mantissa;
  const length = magnitude.toString(2).length;
  const dropped = length - Math.min(MANTISSA_BITS, length + exponent - LEAST_EXPONENT);
  const sign = mantissa < 0n ? -1 : 1;
  if (dropped <= 0) return sign * scaled(Number(magnitude), exponent);
  const whole = magnitude >> BigInt(dropped);
  const twiceRest = (magnitude - (whole << BigInt(dropped))) << 1n;
  const unit = 1n << BigInt(dropped);
  const isUp = twiceRest > unit || (twiceRest === unit && (whole & 1n) === 1n);
  return sign * scaled(Number(isUp ? whole + 1n : whole), exponent + dropped);
}

/**
 * `top / bottom * 2 ** exponent` as the nearest float; `top` is not negative and `bottom` positive.
 */
export function floatOfRatio(top: bigint, bottom: bigint, exponent: number): number {
  const shift = Math.max(0, 2 * MANTISSA_BITS + bottom.toString(2).length - top.toString(2).length);
  const shifted = top << BigInt(shift);
  const rest = shifted % bottom === 0n ? 0n : 1n;
  return floatOf(((shifted / bottom) << 1n) | rest, exponent - shift - 1);
}

/** `value * 2 ** exponent`, in two steps, as the power alone may be beyond floats. */
function scaled(value: number, exponent: number): number {
  const half = Math.trunc(exponent / 2);
  return value * 2 ** half * 2 ** (exponent - half);
}

/** An exact sum. */
export class ExactSum {
  #mantissa = 0n;
  #exponent = 0;
  /** Floats that do not overlap, by magnitude; their sum is part of it (Shewchuk's expansion). */
  #partials: number[] = [];

  /** Adds a finite float. */
  add(value: number): void {
    if (value > SAFE_MAGNITUDE || value < -SAFE_MAGNITUDE) {
      const { mantissa, exponent } = partsOf(value);
      this.addParts(mantissa, exponent);
      return;
    }
    const partials = this.#partials;
    let rest = value;
    let kept = 0;
    for (const partial of partials) {
      const [large, small] = Math.abs(rest) < Math.abs(partial) ? [partial, rest] : [rest, partial];
      const sum = large + small;
      const lost = small - (sum - large);
      if (lost !== 0) partials[kept++] = lost;
      rest = sum;
    }
    partials.length = kept;
    partials.push(rest);
    if (rest > SAFE_MAGNITUDE || rest < -SAFE_MAGNITUDE) this.#settle();
  }

  /** Adds `mantissa * 2 ** exponent`. */
  addParts(mantissa: bigint, exponent: number): void {
    if (mantissa === 0n) return;
    if (this.#mantissa === 0n) [this.#mantissa, this.#exponent] = [mantissa, exponent];
    else if (exponent >= this.#exponent) this.#mantissa += mantissa << BigInt(exponent - this.#exponent);
    else {
      this.#mantissa = (this.#mantissa << BigInt(this.#exponent - exponent)) + mantissa;
      this.#exponent = exponent;
    }
  }

  /** The sum as `mantissa * 2 ** exponent`, with an odd mantissa or zero: one form for one sum. */
  parts(): { readonly mantissa: bigint; readonly exponent: number } {
    this.#settle();
    if (this.#mantissa === 0n) return { mantissa: 0n, exponent: 0 };
    const zeros = (this.#mantissa & -this.#mantissa).toString(2).length - 1;
    return { mantissa: this.#mantissa >> BigInt(zeros), exponent: this.#exponent + zeros };
  }

  /** The sum, correctly rounded. */
  value(): number {
    this.#settle();
    return floatOf(this.#mantissa, this.#exponent);
  }

  #settle(): void {
    for (const partial of this.#partials) {
      const { mantissa, exponent } = partsOf(partial);
      this.addParts(mantissa, exponent);
    }
    this.#partials = [];
  }
}
