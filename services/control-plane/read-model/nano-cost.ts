/** Money as whole billionths, so that sums of many small costs are exact. */
const NANO_DIGITS = 9
/** Largest integer that a database column holds. */
const NANO_MAX = 9_223_372_036_854_775_807n

/** `"0.0125"` → 12500000n; what is no decimal number counts as nothing. */
export function costToNano(cost: string): bigint {
  const found = /^(-?)(\d{1,12})(?:\.(\d{1,9})\d*)?$/.exec(cost)
  if (!found) return 0n
  const [, sign, whole = '0', fraction = ''] = found
  const nano = BigInt(whole + fraction.padEnd(NANO_DIGITS, '0'))
  const bounded = nano > NANO_MAX ? NANO_MAX : nano
  return sign === '-' ? -bounded : bounded
}

/** The inverse: a decimal without trailing zeros. */
export function nanoToCost(nano: bigint): string {
  const digits = (nano < 0n ? -nano : nano).toString().padStart(NANO_DIGITS + 1, '0')
  const fraction = digits.slice(-NANO_DIGITS).replace(/0+$/, '')
  const whole = digits.slice(0, -NANO_DIGITS)
  return `${nano < 0n ? '-' : ''}${whole}${fraction ? `.${fraction}` : ''}`
}
