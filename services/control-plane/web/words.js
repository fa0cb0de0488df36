/** The console's words, in the language of the page. */
import { language, sharedWords } from '../../kernel/web/language.js'
import { codes as englishCodes } from './codes-en.js'
import { codes as spanishCodes } from './codes-es.js'
import { words as english } from './words-en.js'
import { words as spanish } from './words-es.js'

export const words = { ...sharedWords, ...(language === 'es' ? spanish : english) }

const codes = language === 'es' ? spanishCodes : englishCodes

/** A code of one of the API's lists as a person reads it; one that is new stays as it is. */
export const inWords = (list, code) => codes[list][code] ?? code
