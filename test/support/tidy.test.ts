/**
 * Rules that a reviewer would otherwise repeat, as a test over the source tree. Biome holds the
 * length of functions, dependency-cruiser the imports, knip dead code; here is the rest.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { describe, it } from 'node:test'

const ROOTS = '{services,schemas,topologies,deploy,loadtest,test}'
const SOURCES = globSync(`${ROOTS}/**/*.ts`)
const HAND_WRITTEN = SOURCES.filter(path => !path.startsWith('schemas/generated/'))
const LINE_WIDTH_MAX = 100
const FILE_LINES_MAX = 400
const TEST_LINES_MAX = 600
const README_LINES_MAX = 80
const FORBIDDEN_NAMES = 'utils helpers common misc types manager base impl index'.split(' ')

/** A pure file asks nobody for the time, a number or a side effect: they come as arguments. */
const IMPURE = new RegExp(
  [
    /\b(Date\.now|Math\.random|Temporal\.Now|performance\.now)\b/,
    /\b(crypto|console|process)\./,
    /\b(fetch|setTimeout|setInterval|setImmediate)\(/,
    /\bnew Date\(\)/,
  ]
    .map(({ source }) => source)
    .join('|'),
)
// Written in two halves, so that this file does not break its own rule.
const UNFINISHED = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X'].join('|')})\\b`)
const UNTYPED = new RegExp(`\\bas ${'any'}\\b|@ts-${'ignore'}|@ts-${'nocheck'}`)
const EXPORT_ALL = /^export \*/
const BANNER = /^\s*(\/\/|\*|\/\*)\s*[-=*/#]{8,}/

/** A reader has the pages of `docs/`, each with a file name. */
const PAGE_WITHOUT_FILE = /\bpage ("[A-Z]|\d\d\b)/

describe('the source tree is tidy', () => {
  it('no comment cites a page that has no file', () => {
    assertNone(linesWhere(HAND_WRITTEN, line => PAGE_WITHOUT_FILE.test(line)))
  })
  it(`no line is longer than ${LINE_WIDTH_MAX} columns`, () => {
    assertNone(linesWhere(HAND_WRITTEN, line => isTooWide(line)))
  })

  it(`no file has more than ${FILE_LINES_MAX} lines, no test more than ${TEST_LINES_MAX}`, () => {
    assertNone(HAND_WRITTEN.filter(path => linesOf(path).length > linesMax(path)))
  })

  it('a file is named in kebab-case after what it holds', () => {
    const isBad = (path: string) => {
      const name = basename(path, '.ts').replace(/\.(test|d)$/, '')
      return FORBIDDEN_NAMES.includes(name) || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)
    }
    assertNone(SOURCES.filter(isBad))
  })

  it('nothing is re-exported wholesale', () => {
    assertNone(linesWhere(SOURCES, line => EXPORT_ALL.test(line)))
  })

  it('no type check is switched off', () => {
    assertNone(linesWhere(SOURCES, line => UNTYPED.test(line)))
  })

  it('nothing is left for later, and no banner stands in a comment', () => {
    assertNone(linesWhere(HAND_WRITTEN, line => UNFINISHED.test(line) || BANNER.test(line)))
  })

  it('a pure file takes time, randomness and effects as arguments', () => {
    const pure = HAND_WRITTEN.filter(path => isPure(path))
    assertNone(linesWhere(pure, line => !isComment(line) && IMPURE.test(line)))
  })

  it(`the README of a service fits one screen (${README_LINES_MAX} lines)`, () => {
    const readmes = globSync('services/*/README.md')
    assertNone(readmes.filter(path => linesOf(path).length > README_LINES_MAX))
  })
})

function assertNone(found: string[]): void {
  assert.ok(found.length === 0, `${found.length} found:\n${found.join('\n')}`)
}

function linesOf(path: string): string[] {
  return readFileSync(path, 'utf8').trimEnd().split('\n')
}

function linesWhere(paths: string[], isBad: (line: string) => boolean): string[] {
  return paths.flatMap(path =>
    linesOf(path).flatMap((line, at) => (isBad(line) ? [`${path}:${at + 1}: ${line.trim()}`] : [])),
  )
}

function linesMax(path: string): number {
  const isTest = path.endsWith('.test.ts') || path.startsWith('test/')
  return isTest ? TEST_LINES_MAX : FILE_LINES_MAX
}

/** An address cannot be broken over two lines, and a string is code points, not UTF-16 units. */
function isTooWide(line: string): boolean {
  return [...line].length > LINE_WIDTH_MAX && !/https?:\/\/\S{60,}/.test(line)
}

function isComment(line: string): boolean {
  return /^\s*(\/\/|\*|\/\*)/.test(line)
}

/** The dependency rules are the one place that says which files are pure. */
function isPure(path: string): boolean {
  const { forbidden } = createRequire(import.meta.url)('../../.dependency-cruiser.cjs') as Rules
  const rule = forbidden.find(({ name }) => name === 'pure-files-stay-pure')
  assert.ok(rule, 'the rule pure-files-stay-pure is in .dependency-cruiser.cjs')
  const matches = (patterns: string[]) => patterns.some(pattern => new RegExp(pattern).test(path))
  return matches(rule.from.path) && !matches(rule.from.pathNot)
}

interface Rules {
  forbidden: { name: string; from: { path: string[]; pathNot: string[] } }[]
}
