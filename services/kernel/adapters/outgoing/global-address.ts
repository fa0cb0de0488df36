/**
 * Which addresses outgoing calls may reach: only those that the IANA special-purpose registries
 * (IPv4 and IPv6) leave to the whole internet.
 *
 * Nothing special is let through, also where the registries call it globally reachable (AS112,
 * AMT and PCP anycast): those lead to the nearest machine that answers for them, which may be one
 * of ours, and no receiver lives there.
 */
import ipaddr from 'ipaddr.js'

const { IPv4, IPv6 } = ipaddr

/** All that IANA has given out for unicast; everything outside is special or unassigned. */
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [IPv6.parse('2000::'), 3]

/** Interface identifiers of ISATAP (RFC 5214, section 6.1), local and universal. */
const ISATAP = new Set([0x0000_5efe, 0x0200_5efe])

/**
 * True for the text of an address that anybody may be sent to. False for everything else, also
 * for text that is no address, an IPv4 in any but its usual form, and an IPv6 with a zone.
 */
export function isGlobalAddress(text: string): boolean {
  if (IPv4.isValidFourPartDecimal(text)) return IPv4.parse(text).range() === 'unicast'
  if (text.includes('%') || !IPv6.isValid(text)) return false
  const address = IPv6.parse(text)
  if (!address.match(GLOBAL_UNICAST) || address.range() !== 'unicast') return false
  const inner = isatapTarget(address)
  return inner === undefined || inner.range() === 'unicast'
}

/**
 * The IPv4 that an ISATAP router unwraps the address to. Mapped, compatible, NAT64 and 6to4
 * addresses lie outside the accepted ranges, so what they carry needs no second look.
 */
function isatapTarget({ parts }: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  const [, , , , high = 0, low = 0, ...inner] = parts
  if (!ISATAP.has(high * 0x1_0000 + low)) return undefined
  return new IPv4(inner.flatMap(part => [part >> 8, part & 0xff]))
}
