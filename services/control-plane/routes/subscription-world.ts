/** What routes that change objects need from around them. */
import type { HandleSigner } from '#kernel/domain/lease-handle.ts'
import type { Authenticate } from '#kernel/host/authenticate.ts'
import type { Directory } from '#kernel/host/directory.ts'
import type { Calendars } from '#kernel/host/follow-calendars.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { RegistryClient } from '#kernel/host/registry-client.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { Ids } from '#kernel/ports/ids.ts'

export interface SubscriptionRoutesWorld {
  authenticate: Authenticate
  registry: RegistryClient
  directory: Directory
  tables: LiveTables
  ids: Ids
  signer: HandleSigner
  clock: Pick<Clock, 'now'>
  calendars: Pick<Calendars, 'book'>
  /** Tenant in which unknown agents are created with defaults; none elsewhere. */
  autoAgentTenant?: string
  /** The newest decision of a subscription, for `last`. */
  lastOf(tenant: string, id: string): unknown
}
