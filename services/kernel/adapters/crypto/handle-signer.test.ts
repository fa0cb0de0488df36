import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { LeaseClaim } from '#kernel/domain/lease-handle.ts'
import { createHandleSigner } from './handle-signer.ts'

const OLD = 'o'.repeat(32)
const NEW = 'n'.repeat(32)
const claim: LeaseClaim = {
  tenant: 'local',
  agent: 'triage',
  messageId: 'm1',
  subscription: 's1',
  token: 17,
  leaseId: 'l1',
  session: null,
  onBehalfOf: null,
  lineage: [{ subscription: 's1', agent: 'triage', message: 'm1' }],
  issuedAt: 1,
}

describe('createHandleSigner', () => {
  it('reads what it signed', () => {
    const signer = createHandleSigner([NEW])
    assert.deepEqual(signer.verify(signer.sign(claim)), claim)
  })

  it('goes on reading handles of the old key while it is named', () => {
    const handle = createHandleSigner([OLD]).sign(claim)
    assert.deepEqual(createHandleSigner([NEW, OLD]).verify(handle), claim)
    assert.equal(createHandleSigner([NEW]).verify(handle), undefined)
  })

  it('reads nothing that was changed, cut or invented', () => {
    const signer = createHandleSigner([NEW])
    const handle = signer.sign(claim)
    const [payload = '', mac = ''] = handle.split('.')
    const forged = Buffer.from(JSON.stringify({ ...claim, token: 18 })).toString('base64url')
    for (const bad of ['', '.', payload, `${payload}.`, `${forged}.${mac}`, `${handle}.x`, 'x.y']) {
      assert.equal(signer.verify(bad), undefined, bad)
    }
  })

  it('refuses weak keys and none', () => {
    assert.throws(() => createHandleSigner([]), RangeError)
    assert.throws(() => createHandleSigner(['short']), RangeError)
  })
})
