import { isPermitted, type Permission, type Principal } from '#kernel/domain/principal.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Authenticate } from '#kernel/host/authenticate.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'

/**
 * The caller, refused without the permission. Resolves when the tables hold every change that was
 * answered before this request, so that whoever made one sees it, on whichever replica.
 */
export async function permitted(
  world: { authenticate: Authenticate; tables: Pick<LiveTables, 'barrier'> },
  request: Parameters<Authenticate>[0],
  permission: Permission,
): Promise<Principal> {
  const principal = await world.authenticate(request)
  if (!isPermitted(principal, permission)) {
    throw new AmbitError('forbidden', `This key does not hold the permission ${permission}.`)
  }
  await world.tables.barrier()
  return principal
}
