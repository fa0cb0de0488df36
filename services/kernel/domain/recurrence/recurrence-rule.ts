/** When something happens again, in the words of a person: a clock time in a place, and a rule. */
export interface RecurrenceRule {
  /**
   * Local date-time `YYYY-MM-DDTHH:MM:SS`, no offset; the first occurrence and the rule's phase.
   */
  dtstart: string
  /** Name of an IANA zone; aliases are accepted, plain offsets are not. */
  tzid: string
  /** RFC 5545 RRULE, with or without the leading `RRULE:`. None: DTSTART (and RDATE) only. */
  rrule?: string | null
  /** Added instants: local in `tzid`, or UTC with `Z`. */
  rdates?: string[]
  /** Removed instants, in the same two forms; they win over everything else. */
  exdates?: string[]
}
