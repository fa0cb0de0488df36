import { describe, it } from 'node:test'
import { skipWithoutPrograms } from '#test/support/cluster.ts'
import { assertClean } from './findings.ts'
import { judgeDrill } from './judge-drill.ts'

describe('evaluators that are killed while they judge', { skip: skipWithoutPrograms }, () => {
  it('lose no event, and pay again only for calls that were in flight', async t => {
    const report = await judgeDrill.run()
    t.diagnostic(report.summary)
    assertClean(report)
  })
})
