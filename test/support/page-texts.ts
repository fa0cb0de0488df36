/** What a page shows, held against its words in two languages. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'

/** A table of words: texts, functions that make one, and tables within. */
export type Words = { [name: string]: string | ((...args: unknown[]) => string) | Words }

/** What a browser module exports; these are plain scripts without types. */
export async function browserModule(file: URL): Promise<Record<string, Words>> {
  return import(file.href)
}

/**
 * Both tables have the same words, taking as many arguments, and none of them is the same in both
 * but those in `same`, which are named by their place: `limit.rate`.
 */
export function assertTranslated(english: Words, spanish: Words, same: readonly string[]): void {
  const [first, second] = [leavesOf(english), leavesOf(spanish)]
  assert.deepEqual([...second.keys()], [...first.keys()], 'both languages have the same words')
  const alike: string[] = []
  for (const [place, { text, parameters }] of first) {
    const other = second.get(place)
    assert.equal(other?.parameters, parameters, `${place} takes the same arguments`)
    assert.notEqual(other?.text.trim(), '', `${place} says something`)
    if (other?.text === text) alike.push(place)
  }
  assert.deepEqual(alike, same, 'words that are the same in both languages')
}

/** A function is compared by what it is written as. */
function leavesOf(words: Words, prefix = ''): Map<string, { text: string; parameters: number }> {
  const leaves = new Map<string, { text: string; parameters: number }>()
  for (const [name, value] of Object.entries(words)) {
    const place = `${prefix}${name}`
    if (typeof value === 'string') leaves.set(place, { text: value, parameters: -1 })
    else if (typeof value === 'function') {
      leaves.set(place, { text: String(value), parameters: value.length })
    } else for (const [inner, leaf] of leavesOf(value, `${place}.`)) leaves.set(inner, leaf)
  }
  return leaves
}

/** Every text that the documents and scripts of a folder show without a word for it. */
export function textsWithoutWord(folder: URL, words: Words): string[] {
  return readdirSync(folder).flatMap(file => {
    const text = readFileSync(new URL(file, folder), 'utf8')
    if (file.endsWith('.html')) return inDocument(text, words).map(found => `${file}: ${found}`)
    const isScript = file.endsWith('.js') && !/^(words|codes|shared-words)/.test(file)
    return isScript ? inScript(text, words).map(found => `${file}: ${found}`) : []
  })
}

/** Names, which are the same everywhere, and what is shown without scripts, in both languages. */
const UNTRANSLATED = /<title>.*?<\/title>|<noscript>.*?<\/noscript>|<h1>Ambit<\/h1>/gs

function inDocument(html: string, words: Words): string[] {
  const body = html.replaceAll(UNTRANSLATED, '')
  const texts = body.matchAll(/<([^>!]+)>([^<]*\p{L}[^<]*)</gu)
  const bare = [...texts].filter(([, tag = '']) => !/\sdata-word="/.test(tag)).map(([, , t]) => t)
  const labelled = [...body.matchAll(/<([^>]*\saria-label="[^>]*)>/g)].map(([, tag = '']) => tag)
  const unlabelled = labelled.filter(tag => !/\sdata-label="/.test(tag))
  const named = [...body.matchAll(/\sdata-(?:word|label)="(\w+)"/g)].map(([, name = '']) => name)
  return [...bare, ...unlabelled, ...named.filter(name => !Object.hasOwn(words, name))].map(String)
}

/** Words that are asked for and missing, and sentences that stand in the script itself. */
function inScript(script: string, words: Words): string[] {
  const code = script.replaceAll(/\/\*.*?\*\/|^\s*\/\/.*?$|^import .*?$/gms, '')
  const asked = [...code.matchAll(/\bwords\.(\w+)/g)].map(([, name = '']) => name)
  const sentences = [...code.matchAll(/['"`](?!Bearer )\p{Lu}\p{Ll}+ [^'"`]*['"`]/gu)].map(
    ([text]) => text,
  )
  return [...asked.filter(name => !Object.hasOwn(words, name)), ...sentences]
}
