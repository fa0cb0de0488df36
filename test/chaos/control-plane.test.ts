import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { skipWithoutPrograms } from '#test/support/cluster.ts'
import { type EditReport, editAndSend, makeEdited } from './edits.ts'
import { freezeControlPlane } from './faults.ts'
import { assertHeld, openScene, reportLine, runFault, type Scene } from './scene.ts'

/** Above the five seconds between two heartbeats, and short enough to be waited for. */
const CONTINUITY_MS = 12_000
const EDITS = 30
const SETTLED_MS = 20_000

describe('a control plane that stands still, or edits', { skip: skipWithoutPrograms }, () => {
  let scene: Scene

  before(async () => {
    scene = await openScene({ env: { AMBIT_CONTINUITY_MS: String(CONTINUITY_MS) } })
  })
  after(() => scene?.stop())

  it('execution goes on within the continuity', async t => {
    let before = 0
    const report = await runFault(
      scene,
      freezeControlPlane(5000, async ({ ledger }) => {
        before = ledger.counts().completed
        assert.deepEqual(await waitingReplicas(scene), [])
      }),
    )
    t.diagnostic(reportLine(report))
    assert.ok(before > 50, `${before} messages were completed meanwhile`)
    assertHeld(report)
  })

  it('after the continuity it waits for policy, says so, and goes on later', async t => {
    const report = await runFault(
      scene,
      freezeControlPlane(CONTINUITY_MS + 4000, async ({ ledger }) => {
        const { completed } = ledger.counts()
        const waiting = await waitingReplicas(scene)
        const evaluators = waiting.filter(service => service === 'evaluator')
        assert.equal(evaluators.length, 2, waiting.join())
        await sleep(2000)
        assert.equal(ledger.counts().completed, completed, 'nothing is decided meanwhile')
      }),
    )
    t.diagnostic(reportLine(report))
    assertHeld(report)
    assert.deepEqual(await waitingReplicas(scene), [])
  })

  it('an event is judged by the edit that was answered before it', async t => {
    const id = await makeEdited(scene)
    const edited: EditReport = { wanted: [], unwanted: [], pending: 0 }
    const strike = async () => {
      Object.assign(edited, await editAndSend(scene, id, EDITS))
    }
    const report = await runFault(scene, { name: `${EDITS} edits`, strike })
    t.diagnostic(reportLine(report))
    assertHeld(report)
    const { wanted, unwanted, pending } = edited
    assert.equal(pending, 0, 'every edit is answered in time')
    const { ledger, mirror } = scene
    const missing = () => wanted.filter(event => ledger.messagesOf('edited', event) !== 1)
    for (let waited = 0; waited < SETTLED_MS && missing().length > 0; waited += 250) {
      await sleep(250)
    }
    await mirror.barrier()
    assert.deepEqual(missing(), [], 'let in by the edit, so delivered')
    const seen = unwanted.filter(event => ledger.messagesOf('edited', event) > 0)
    assert.deepEqual(seen, [], 'kept out by the edit, so never delivered')
  })
})

/** The services of replicas, but the control plane's, that wait for policy. */
async function waitingReplicas({ cluster }: Scene): Promise<string[]> {
  const replicas = (['evaluator', 'guard', 'mailbox-dispatcher'] as const).flatMap(service =>
    cluster.replicas(service),
  )
  const found = await Promise.all(
    replicas.map(async replica => {
      const { status, text } = await replica.readiness()
      return status === 503 && text.includes('waiting for policy') ? [replica.service] : []
    }),
  )
  return found.flat()
}
