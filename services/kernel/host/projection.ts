/** Opens the file of a read model in the data folder. */
import { join } from 'node:path'
import { openProjectionDatabase } from '#kernel/adapters/sqlite/projection-database.ts'
import type { ProjectionDatabase } from '#kernel/ports/projection-database.ts'
import type { Configuration } from './configuration.ts'

/** `NAME.sqlite`; it may be deleted while the process is down, and is built anew from the log. */
export function openProjection(
  configuration: Pick<Configuration, 'AMBIT_DATA_DIR'>,
  name: string,
): ProjectionDatabase {
  return openProjectionDatabase(join(configuration.AMBIT_DATA_DIR, `${name}.sqlite`))
}
