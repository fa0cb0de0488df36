/** Who asks for a calendar, and what the routes stand on. */
import type { FastifyRequest } from 'fastify'
import { calendarNameSchema } from '#kernel/domain/calendar/calendar.ts'
import { parseWith } from '#kernel/domain/parse-with.ts'
import { isPermitted, type Permission, type Principal } from '#kernel/domain/principal.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { RegistryClient } from '#kernel/host/registry-client.ts'
import type { RawRequest } from '../raw-bodies.ts'
import type { CalendarPlace } from './calendar-store.ts'
import type { FeedWorld } from './poll-feed.ts'

export interface CalendarRoutesWorld extends FeedWorld {
  authenticate(request: FastifyRequest): Promise<Principal>
  registry: RegistryClient
  /** Holds `sources` and `policies`. */
  tables: LiveTables
}

/** Who asks, and for which calendar; what was answered before the call is visible after it. */
export interface Caller {
  by: Principal
  place: CalendarPlace
}

/** Authenticates; resolves when changes that were answered before are visible. */
export async function callerOf(
  world: CalendarRoutesWorld,
  request: RawRequest,
  permission: Permission,
): Promise<Caller> {
  const by = await world.authenticate(request)
  if (!isPermitted(by, permission)) {
    throw new AmbitError('forbidden', `This key does not hold the permission ${permission}.`)
  }
  const name = request.params.name ?? ''
  const calendar = name === '' ? '' : parseWith(calendarNameSchema, name, 'bad-request')
  await Promise.all([world.tables.barrier(), world.store.barrier()])
  return { by, place: { tenant: by.tenant, calendar } }
}
