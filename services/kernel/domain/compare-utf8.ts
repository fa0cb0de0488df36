/**
 * Orders two strings as their UTF-8 bytes are ordered, which is by code point. SQLite and Redis
 * order so; JavaScript's `<` differs above U+FFFF, whose UTF-16 halves sort before U+E000.
 */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i += 1) {
    const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (left !== right) return rank(left) - rank(right)
  }
  return a.length - b.length
}

/** Moves the UTF-16 halves of U+10000 and above behind all other units. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}
