/** Bugs of budgets and of the cache, planted between the judge and the store. */
import { criterionHash } from '#kernel/domain/criterion-hash.ts'
import { toCloudEvent } from '#kernel/domain/event-record.ts'
import { judgeItemOf } from '#services/evaluator/judge/judge-item.ts'
import { verdictKey } from '#services/evaluator/judge/verdict-cache.ts'
import { unlimited, withCommits, withStore } from '../bugs/changed-ports.ts'
import type { World } from '../world.ts'
import { criterionOf, WORDS } from './meaning-plan.ts'
import type { MeaningBug } from './meaning-world.ts'

const isReservation = ({ key }: { key: string }) => key.startsWith('reservation/')
const isVerdict = (key: string) => key.startsWith('verdict/')
const isHeld = ({ field }: { field: string }) => field.endsWith('/held')

export const MONEY_BUGS: readonly MeaningBug[] = [
  {
    name: 'unreserved',
    meaning: 'a model is asked before anything was reserved',
    wrap: process =>
      withCommits(process, commit => ({
        ...commit,
        put: commit.put?.filter(put => !isReservation(put)),
        add: commit.add?.filter(add => !isHeld(add)),
      })),
  },
  {
    name: 'held-for-ever',
    meaning: 'a reservation that nobody settles never expires',
    wrap: process =>
      withCommits(process, commit => ({
        ...commit,
        due: commit.due?.filter(({ id }) => !id.startsWith('reservation')),
      })),
  },
  {
    name: 'settled-and-expired',
    meaning: 'a settled reservation is given back once more when it expires',
    wrap: process =>
      withCommits(process, commit => ({
        ...commit,
        put: commit.put?.filter(put => !(isReservation(put) && put.body === null)),
        due: commit.due?.filter(({ id, at }) => !(id.startsWith('reservation') && at === null)),
      })),
  },
  {
    name: 'limits-ignored',
    meaning: 'budgets are counted and not compared',
    wrap: process => withStore(process, unlimited),
  },
  {
    name: 'cache-across-tenants',
    meaning: 'what one tenant paid for is told to another',
    wrap: process =>
      withStore(process, store => ({
        load: async request => {
          const loaded = await store.load(request)
          // Only where the cache is looked at, not where it is written.
          const keys = request.documents
          if (keys.length === 0 || !keys.every(isVerdict)) return loaded
          const { documents } = await store.load({ tenant: SHARED, documents: keys })
          return { ...loaded, documents: new Map([...documents, ...loaded.documents]) }
        },
        commit: async commit => {
          const result = await store.commit(commit)
          const put = commit.put?.filter(({ key }) => isVerdict(key)) ?? []
          if (result.kind === 'ok' && put.length > 0) await store.commit({ tenant: SHARED, put })
          return result
        },
      })),
  },
  {
    name: 'cache-without-criterion',
    meaning: 'a text that was judged is not judged again for another criterion',
    wrap: (process, world) =>
      withStore(process, store => {
        const named = (key: string) => (isVerdict(key) ? textKey(world, key) : key)
        return {
          load: async request => {
            const loaded = await store.load({ ...request, documents: request.documents.map(named) })
            const found = request.documents.flatMap(key => {
              const document = loaded.documents.get(named(key))
              return document ? [[key, document] as const] : []
            })
            return { ...loaded, documents: new Map(found) }
          },
          commit: ({ put, expect = {}, ...commit }) =>
            store.commit({
              ...commit,
              put: put?.map(each => ({ ...each, key: named(each.key) })),
              expect: Object.fromEntries(
                Object.entries(expect).map(([key, version]) => [named(key), version]),
              ),
            }),
        }
      }),
  },
]

const SHARED = 'everybody'

const known = new WeakMap<World, Map<string, string>>()

/** The key of a verdict with its criterion left out, as far as its text is known. */
function textKey(world: World, key: string): string {
  const names = known.get(world) ?? new Map<string, string>()
  known.set(world, names)
  if (!names.has(key)) learnKeys(world, names)
  return names.get(key) ?? key
}

function learnKeys({ history }: World, names: Map<string, string>): void {
  const blank = { minConfidence: 0.7, scope: 'each' as const }
  const hashes = WORDS.map(word => criterionHash({ ...blank, criterion: criterionOf(word) }))
  for (const { value } of history.values('evaluations', 'candidate')) {
    if (!value.event) continue
    const item = judgeItemOf(toCloudEvent(value.event))
    for (const hash of hashes) {
      for (const model of ['large', 'small']) {
        names.set(verdictKey(hash, [item], model), `verdict/${model}/${item.digest}`)
      }
    }
  }
}
