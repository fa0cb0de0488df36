import { isAmbitError } from '../errors.ts'

/**
 * What `read` answers, or nothing for a record that nobody can read: it must not keep the others
 * (I18). A schema that is still being fetched throws on, and the records come again.
 *
 * @throws AmbitError `not-ready`; what is no `AmbitError` as it is.
 */
export function readable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!isAmbitError(error) || error.code === 'not-ready') throw error
    return undefined
  }
}
