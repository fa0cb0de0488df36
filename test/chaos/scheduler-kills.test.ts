import { describe, it } from 'node:test'
import { skipWithoutPrograms } from '#test/support/cluster.ts'
import { assertClean } from './findings.ts'
import { schedulerDrill } from './scheduler-drill.ts'

describe('schedulers that are killed at due times', { skip: skipWithoutPrograms }, () => {
  it('fire every instant once, tell what came late, and fire nothing of old schedules', async t => {
    const report = await schedulerDrill.run()
    t.diagnostic(report.summary)
    assertClean(report)
  })
})
