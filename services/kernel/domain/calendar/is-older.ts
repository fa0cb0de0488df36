import type { Meeting } from './calendar-object.ts'

type Revision = Pick<Meeting, 'sequence' | 'stampMs'>

/** Is the first an older revision than the second: by number, then by date (RFC 5546 2.1.5)? */
export function isOlder(one: Revision, other: Revision): boolean {
  if (one.sequence !== other.sequence) return one.sequence < other.sequence
  return one.stampMs !== null && other.stampMs !== null && one.stampMs < other.stampMs
}
