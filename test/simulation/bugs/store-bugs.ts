/** Bugs of those who use the store, planted between them and it. */
import type { Commit, DocumentPut, Fence, StateStore } from '#kernel/ports/state-store.ts'
import type { Bug } from '../world.ts'
import { unlimited, withCommits, withoutLimits, withStore } from './changed-ports.ts'

const changePuts = (commit: Commit, change: (put: DocumentPut) => DocumentPut | undefined) => ({
  ...commit,
  put: commit.put?.flatMap(put => change(put) ?? []),
})

/** Changes members of a document's body. */
function edited(put: DocumentPut, edit: (body: Record<string, unknown>) => void): DocumentPut {
  if (put.body === null) return put
  const body = JSON.parse(put.body) as Record<string, unknown>
  edit(body)
  return { ...put, body: JSON.stringify(body) }
}

const startsWith = (prefix: string) => (put: DocumentPut) => put.key.startsWith(prefix)
const isClaim = startsWith('claim/')
const isCandidate = startsWith('candidate/')
const isGuard = startsWith('guard/')
const isMailbox = startsWith('mailbox/')
const isMember = startsWith('member/')
const isMessage = startsWith('msg/')

/** The fence looks as it was left, whatever the store holds. */
function blindToRollback(store: StateStore): Partial<StateStore> {
  const left = new Map<string, Fence>()
  const isBehind = (found: Omit<Fence, 'key'>, fence: Fence | undefined) =>
    fence?.incarnation === found.incarnation && fence.epoch === found.epoch && found.seq < fence.seq
  return {
    async commit(commit) {
      const { fence, tenant } = commit
      let result = await store.commit(commit)
      if (!fence) return result
      if (result.kind === 'lost' && result.found && isBehind(result.found, fence)) {
        result = await store.commit({ ...commit, fence: { key: fence.key, ...result.found } })
      }
      const next = { ...fence, seq: fence.seq + 1 }
      if (result.kind === 'ok') left.set(`${tenant} ${fence.key}`, next)
      return result
    },
    async takeFence(tenant, fence) {
      const answer = await store.takeFence(tenant, fence)
      const known = left.get(`${tenant} ${fence.key}`)
      if (!known || !answer.stored || !isBehind(answer.stored, known)) return answer
      return { ...answer, stored: { ...answer.stored, seq: known.seq } }
    },
  }
}

export const STORE_BUGS: readonly Bug[] = [
  {
    name: 'fence-ignored',
    meaning: 'a stale owner, and one whose store lost commits, writes all the same',
    wrap: process =>
      withStore(process, store => ({
        async commit(commit) {
          const result = await store.commit(commit)
          if (result.kind !== 'lost' || !result.found || !commit.fence) return result
          const fence = { key: commit.fence.key, ...result.found }
          return store.commit({ ...commit, fence })
        },
      })),
  },
  {
    name: 'rollback-unnoticed',
    meaning: 'an owner goes on when the store lost its last second',
    wrap: process => withStore(process, blindToRollback),
  },
  {
    name: 'claim-ttl-zero',
    meaning: 'the claim of an occurrence is gone at once',
    wrap: process =>
      withCommits(process, commit =>
        changePuts(commit, put => (isClaim(put) ? { ...put, ttlMs: 0 } : put)),
      ),
  },
  {
    name: 'candidate-forgotten',
    meaning: 'an event that comes again is decided again',
    wrap: process =>
      withCommits(process, commit =>
        changePuts(commit, put => (isCandidate(put) ? { ...put, ttlMs: 1500 } : put)),
      ),
  },
  {
    name: 'outbox-not-drained',
    meaning: 'a new owner leaves what the former one had not appended',
    wrap: process => withStore(process, () => ({ readOutbox: async () => [] })),
  },
  {
    name: 'outbox-not-written',
    meaning: 'outputs are appended after the commit and kept nowhere before',
    wrap: process => withCommits(process, commit => ({ ...commit, outbox: [] })),
  },
  {
    name: 'wall-clock',
    meaning: 'decisions take the time of their process instead of the store',
    wrap: process =>
      withStore(process, store => ({
        load: async request => ({ ...(await store.load(request)), now: process.clock.now() }),
      })),
  },
  {
    name: 'expired-lease-settles',
    meaning: 'settling does not look at the end of the lease',
    wrap: process =>
      withCommits(process, commit =>
        changePuts(commit, put => {
          if (!isMessage(put)) return put
          return edited(put, body => {
            const lease = body.lease as { expiresAt: number } | null
            if (lease) lease.expiresAt += 3_600_000
          })
        }),
      ),
  },
  {
    name: 'tokens-start-again',
    meaning: 'a rebuilt mailbox gives its first tokens again',
    wrap: process =>
      withCommits(process, commit =>
        changePuts(commit, put => {
          const isRebuild = isMailbox(put) && commit.expect?.[put.key] === undefined
          return isRebuild ? edited(put, body => Object.assign(body, { tokenNext: 1 })) : put
        }),
      ),
  },
  {
    name: 'mailbox-race',
    meaning: 'two dispatchers do not notice each other at one mailbox',
    wrap: process =>
      withCommits(process, commit => ({
        ...commit,
        expect: Object.fromEntries(
          Object.entries(commit.expect ?? {}).filter(([key]) => !/^(mailbox|msg)\//.test(key)),
        ),
      })),
  },
  {
    name: 'settled-forgotten',
    meaning: 'a settled message is new when its record is read again',
    wrap: process =>
      withCommits(process, commit =>
        changePuts(commit, put => {
          const isSettled = isMessage(put) && put.ttlMs !== undefined
          return isSettled ? { ...put, ttlMs: 1500 } : put
        }),
      ),
  },
  {
    name: 'cooldown-not-stored',
    meaning: 'the instant of the last delivery is not kept',
    wrap: process =>
      withCommits(process, commit =>
        changePuts(commit, put =>
          isGuard(put) ? edited(put, body => Object.assign(body, { deliveredAt: 0 })) : put,
        ),
      ),
  },
  {
    name: 'latch-not-stored',
    meaning: 'a storm stops only the candidate that it was noticed with',
    wrap: process =>
      withCommits(process, commit =>
        changePuts(commit, put =>
          isGuard(put)
            ? edited(put, body => Object.assign(body, { latch: null, arrivals: [] }))
            : put,
        ),
      ),
  },
  {
    name: 'members-lost',
    meaning: 'a group keeps its first member only',
    wrap: process =>
      withCommits(process, commit =>
        changePuts(commit, put => (isMember(put) && !put.key.endsWith('/1') ? undefined : put)),
      ),
  },
  {
    name: 'flush-twice',
    meaning: 'a flushed group keeps its members and its time',
    wrap: process =>
      withCommits(process, commit => ({
        ...changePuts(commit, put => {
          const isFlushed = put.key.startsWith('group/') && commit.due?.some(d => d.at === null)
          return isFlushed || (isCandidate(put) && isDelivered(put)) ? undefined : put
        }),
        due: commit.due?.filter(({ id, at }) => !(id.startsWith('flush/') && at === null)),
      })),
  },
  {
    name: 'budget-unlimited',
    meaning: 'budgets are counted and not compared',
    wrap: process => withStore(process, unlimited),
  },
  {
    name: 'budget-checked-late',
    meaning: 'two replicas may both find room in a budget that has one place left',
    wrap: process => withCommits(process, withoutLimits),
  },
  {
    name: 'due-lost',
    meaning: 'one due entry in four is not written',
    wrap: process =>
      withCommits(process, commit => ({
        ...commit,
        due: commit.due?.filter(({ at }) => at === null || at % 4 !== 0),
      })),
  },
]

function isDelivered({ body }: DocumentPut): boolean {
  return body?.includes('"fate":"delivered"') === true && body.includes('group-flushed')
}
