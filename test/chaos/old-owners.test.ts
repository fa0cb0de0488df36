import { after, before, describe, it } from 'node:test'
import { skipWithoutPrograms } from '#test/support/cluster.ts'
import { faultsOf } from './faults.ts'
import { assertHeld, openScene, reportLine, runFault, type Scene } from './scene.ts'

describe('owners that stand still or leave do no harm', { skip: skipWithoutPrograms }, () => {
  let scene: Scene

  before(async () => {
    scene = await openScene()
  })
  after(() => scene?.stop())

  for (const fault of [...faultsOf('C2'), ...faultsOf('C10')]) {
    it(`${fault.name}: nothing lost, nothing doubled, back within 30 s`, async t => {
      const report = await runFault(scene, fault)
      t.diagnostic(reportLine(report))
      assertHeld(report)
    })
  }
})
