import { describe, it } from 'node:test'
import { skipWithoutPrograms } from '#test/support/cluster.ts'
import { assertClean } from './findings.ts'
import { pollerDrill } from './poller-drill.ts'

describe('pollers that are killed while items come in', { skip: skipWithoutPrograms }, () => {
  it('tell of every item once, and stand where they should', async t => {
    const report = await pollerDrill.run()
    t.diagnostic(report.summary)
    assertClean(report)
  })
})
