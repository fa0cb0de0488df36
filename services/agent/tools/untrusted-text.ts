/** Fences around what strangers may have written: something to read, never instructions. */

/** The text between marks that it cannot close itself, with where it came from. */
export function untrustedText(origin: string, text: string): string {
  const inside = text.replaceAll(/<(\/?)untrusted/gi, '<$1_untrusted')
  const from = origin.replaceAll(/["<>\n]/g, ' ').slice(0, 300)
  return `<untrusted origin="${from}">\n${inside}\n</untrusted>`
}
