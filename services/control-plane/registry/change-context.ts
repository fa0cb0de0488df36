import type { StartsAt } from '#kernel/domain/subscription.ts'
import type { Directory } from '#kernel/host/directory.ts'
import type { Calendars } from '#kernel/host/follow-calendars.ts'
import type { ChangeContext } from './change-request.ts'

/** What surrounds a tenant's objects at a moment. */
export function changeContext(
  { directory, calendars: { book } }: { directory: Directory; calendars: Pick<Calendars, 'book'> },
  tenant: string,
  moment: { startsAt: StartsAt; now: number },
): ChangeContext {
  return {
    policy: directory.policy(tenant),
    agent: id => directory.agent(tenant, id),
    connector: name => directory.connector(tenant, name),
    calendars: {
      find: book.find(tenant),
      lost: anchor => book.lost(tenant, anchor),
    },
    ...moment,
  }
}
