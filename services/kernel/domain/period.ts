/** Calendar days and months of budgets, counted in the tenant's zone. */
const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known) return known
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  })
  formats.set(zone, format)
  return format
}

/** `2026-11-30`: the day of an instant in a zone. */
export function dayOf(nowMs: number, zone: string): string {
  return formatOf(zone).format(nowMs)
}

/** `2026-11`: the month of an instant in a zone. */
export function monthOf(nowMs: number, zone: string): string {
  return dayOf(nowMs, zone).slice(0, 7)
}

/** First instant after the day or month that `nowMs` lies in, ms since the epoch. */
export function periodEnd(nowMs: number, zone: string, period: 'day' | 'month'): number {
  const start = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(zone).startOfDay()
  const end = period === 'day' ? start.add({ days: 1 }) : start.with({ day: 1 }).add({ months: 1 })
  return end.startOfDay().epochMilliseconds
}
