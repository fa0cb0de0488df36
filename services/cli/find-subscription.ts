/** Subscriptions by the name that a person gave them: an id is what the API made. */
import { isClientError } from '#services/client/client-error.ts'
import type { Client } from '#services/client/create-client.ts'
import { UsageError } from './usage-error.ts'

/** Where ids end and names begin: the API makes ids like this. */
const ID = /^s_/

/**
 * Does the work with what was given, and where the API knows no such id, with the id of the one
 * subscription of that name. Throws `UsageError` where several have it.
 */
export async function withSubscription<T>(
  client: Client,
  given: string,
  work: (id: string) => Promise<T>,
): Promise<T> {
  try {
    return await work(given)
  } catch (error) {
    if (!isClientError(error) || error.status !== 404) throw error
    const id = await idOfName(client, given)
    if (id === undefined) throw error
    return await work(id)
  }
}

/** The id of the one subscription of that name; what was given where there is none. */
export async function subscriptionId(client: Client, given: string): Promise<string> {
  return ID.test(given) ? given : ((await idOfName(client, given)) ?? given)
}

async function idOfName(client: Client, name: string): Promise<string | undefined> {
  const all = await Array.fromAsync(client.subscriptions.list.items({})).catch(error => {
    // Whoever may not list says nothing new: the first answer stands.
    if (isClientError(error) && [403, 404].includes(error.status)) return []
    throw error
  })
  const found = all.filter(each => each.name === name).map(({ id }) => id)
  if (found.length <= 1) return found[0]
  throw new UsageError(`${found.length} subscriptions are called ${name}.`, {
    expected: `one of the ids ${found.join(', ')}`,
    came: name,
    todo: 'Give the id; `ambit get subscriptions` shows which is which.',
  })
}
