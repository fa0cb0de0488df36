import { describe, it } from 'node:test'
import { skipWithoutPrograms } from '#test/support/cluster.ts'
import { assertClean } from './drill.ts'
import { schedulerDrill } from './scheduler-drill.ts'

describe('schedulers that are killed at due times', { skip: skipWithoutPrograms }, () => {
  it('fire every instant once, late where they were late, and nothing of old schedules', async t => {
    const report = await schedulerDrill.run()
    t.diagnostic(report.summary)
    assertClean(report)
  })
})
