/** The console's words, in the language of the page. */
import { language, sharedWords } from '../../kernel/web/language.js'
import { words as english } from './words-en.js'
import { words as spanish } from './words-es.js'

export const words = { ...sharedWords, ...(language === 'es' ? spanish : english) }
