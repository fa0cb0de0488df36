/** What every SecretResolver promises, as one suite for all adapters. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { SecretResolver } from '#kernel/ports/secret-resolver.ts'

/** Makes a resolver of keys (newest first) and environment variables. */
export type MakeResolver = (
  keys: readonly string[],
  environment?: Record<string, string | undefined>,
) => SecretResolver

const OLD = 'o'.repeat(32)
const NEW = 'n'.repeat(32)
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

type Check = (makeResolver: MakeResolver) => Promise<void>

const references: Record<string, Check> = {
  'env: gives the variable, and nothing where there is none': async makeResolver => {
    const secrets = makeResolver([NEW], { TOKEN: SECRET })
    assert.equal(await secrets.resolve('env:TOKEN'), SECRET)
    assert.equal(await secrets.resolve('env:OTHER'), undefined)
    assert.equal(await secrets.resolve('env:'), undefined)
  },
  'env: knows variables only, not what every object has': async makeResolver => {
    const secrets = makeResolver([NEW], {})
    for (const name of ['constructor', '__proto__', 'toString']) {
      assert.equal(await secrets.resolve(`env:${name}`), undefined, name)
    }
  },
  'file: gives the text without the space around it': async makeResolver => {
    const folder = mkdtempSync(join(tmpdir(), 'ambit-secret-'))
    try {
      writeFileSync(join(folder, 'token'), `${SECRET}\n`)
      const secrets = makeResolver([NEW])
      assert.equal(await secrets.resolve(`file:${folder}/token`), SECRET)
      assert.equal(await secrets.resolve(`file:${folder}/other`), undefined)
      assert.equal(await secrets.resolve(`file:${folder}`), undefined)
      writeFileSync(join(folder, 'token'), 'rotated')
      assert.equal(await secrets.resolve(`file:${folder}/token`), 'rotated')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
  'a reference is stored as it is': async makeResolver => {
    const secrets = makeResolver([NEW])
    for (const reference of ['env:TOKEN', 'file:/run/secrets/token', secrets.seal(SECRET)]) {
      assert.equal(secrets.seal(reference), reference)
    }
  },
  'text that is no reference resolves to nothing': async makeResolver => {
    const secrets = makeResolver([NEW], { '': 'x' })
    for (const text of ['', SECRET, 'ENV:TOKEN', 'http://example.com', 'sealed', 'sealed:']) {
      assert.equal(await secrets.resolve(text), undefined, text)
    }
  },
}

const sealing: Record<string, Check> = {
  'what was sealed comes back, whatever characters it has': async makeResolver => {
    const secrets = makeResolver([NEW])
    for (const secret of ['', ' ', SECRET, 'pä55\u0000\n"🦊', 'x'.repeat(10_000)]) {
      assert.equal(await secrets.resolve(secrets.seal(secret)), secret)
    }
  },
  'sealed text does not show the secret, nor that two are the same': async makeResolver => {
    const secrets = makeResolver([NEW])
    const [one, two] = [secrets.seal(SECRET), secrets.seal(SECRET)]
    assert.notEqual(one, two)
    assert.ok(!one.includes(SECRET))
    assert.ok(!Buffer.from(one.slice('sealed:'.length), 'base64url').includes(SECRET))
  },
  'rotation: the newest key seals, every listed one opens': async makeResolver => {
    const before = makeResolver([OLD]).seal(SECRET)
    const during = makeResolver([NEW, OLD])
    assert.equal(await during.resolve(before), SECRET)
    const after = during.seal(SECRET)
    assert.equal(await makeResolver([NEW]).resolve(after), SECRET)
    assert.equal(await makeResolver([OLD]).resolve(after), undefined)
    assert.equal(await makeResolver([NEW]).resolve(before), undefined)
  },
  'tampered: one changed bit anywhere opens nothing': async makeResolver => {
    const secrets = makeResolver([NEW])
    const bytes = Buffer.from(secrets.seal(SECRET).slice('sealed:'.length), 'base64url')
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
      const text = `sealed:${changed.toString('base64url')}`
      assert.equal(await secrets.resolve(text), undefined, `byte ${at}`)
    }
  },
  // A tag cut to four bytes would be guessed in a few hours.
  'tampered: cut off anywhere it opens nothing': async makeResolver => {
    const secrets = makeResolver([NEW])
    for (const secret of ['', SECRET]) {
      const bytes = Buffer.from(secrets.seal(secret).slice('sealed:'.length), 'base64url')
      for (let length = 0; length < bytes.length; length++) {
        const text = `sealed:${bytes.subarray(0, length).toString('base64url')}`
        assert.equal(await secrets.resolve(text), undefined, `${length} bytes`)
      }
    }
  },
}

/** Declares the whole suite for one adapter. */
export function secretResolverContract(name: string, makeResolver: MakeResolver): void {
  describe(`${name} keeps the SecretResolver contract`, () => {
    for (const [promise, check] of Object.entries({ ...references, ...sealing })) {
      test(promise, () => check(makeResolver))
    }
  })
}
