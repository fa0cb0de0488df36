/** Calendar days and months of budgets, counted in the tenant's zone. */

interface Day {
  name: string
  /** First instant, and the first after it, ms since the epoch. */
  start: number
  end: number
}

/** The last day asked for in each zone: decisions ask for today, over and over. */
const days = new Map<string, Day>()

function dayAt(nowMs: number, zone: string): Day {
  const known = days.get(zone)
  if (known && nowMs >= known.start && nowMs < known.end) return known
  const start = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(zone).startOfDay()
  const day = {
    name: start.toPlainDate().toString(),
    start: start.epochMilliseconds,
    end: start.add({ days: 1 }).startOfDay().epochMilliseconds,
  }
  days.set(zone, day)
  return day
}

/** `2026-11-30`: the day of an instant in a zone. */
export function dayOf(nowMs: number, zone: string): string {
  return dayAt(nowMs, zone).name
}

/** First instant after the day or month that `nowMs` lies in, ms since the epoch. */
export function periodEnd(nowMs: number, zone: string, period: 'day' | 'month'): number {
  const { start, end } = dayAt(nowMs, zone)
  if (period === 'day') return end
  const first = Temporal.Instant.fromEpochMilliseconds(start)
    .toZonedDateTimeISO(zone)
    .with({ day: 1 })
  return first.add({ months: 1 }).startOfDay().epochMilliseconds
}
