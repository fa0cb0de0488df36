/** Changes of calendars themselves, through the registry. */
import type { Calendar } from '#kernel/domain/calendar/calendar.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { CalendarRoutesWorld, Caller } from './calendar-caller.ts'

/** Most calendars of a tenant. */
const CALENDARS_MAX = 1000

/** Stores a calendar through the registry, so that it lasts and is audited. */
export async function putCalendar(
  world: CalendarRoutesWorld,
  { by, place }: Caller,
  body: Omit<Calendar, 'id' | 'tenant' | 'version'>,
): Promise<Calendar> {
  const { tenant, calendar } = place
  if (!world.directory.calendar(tenant, calendar)) {
    const count = [...world.tables.keys('sources')].filter(key =>
      key.startsWith(`${encodeURIComponent(tenant)}/calendar/`),
    ).length
    if (count >= CALENDARS_MAX) {
      throw new AmbitError(
        'out-of-bounds',
        `Expected at most ${CALENDARS_MAX} calendars, got more.`,
      )
    }
  }
  await changeCalendar(world, by, { id: calendar, action: 'put', body })
  const stored = world.directory.calendar(tenant, calendar)
  if (!stored) throw new AmbitError('conflict', 'The calendar was deleted meanwhile; try again.')
  return stored
}

/** Asks the registry and waits until this replica knows the answer; rejects `not-ready`. */
export async function changeCalendar(
  world: CalendarRoutesWorld,
  by: Principal,
  order: { id: string; action: string; body?: object },
): Promise<void> {
  const result = await world.registry.ask(by, { kind: 'calendar', ...order })
  if (result.kind === 'pending') {
    throw new AmbitError('not-ready', 'The control plane has not answered yet; send it again.')
  }
  await world.tables.barrier()
}
