import { z } from 'zod'

/** Entries such as `gpt-5-mini=0.25/2`; a model's name may hold slashes and colons. */
const PRICE = /^(?<model>[^,=]+)=(?<input>\d+(?:\.\d{1,6})?)\/(?<output>\d+(?:\.\d{1,6})?)$/

/** A setting that is a price table: `model=input/output` with commas, money per million tokens. */
export const priceTable = z
  .string()
  .transform(text => text.split(',').filter(part => part.trim() !== ''))
  .refine(list => list.every(part => PRICE.test(part.trim())), 'Each must be model=input/output')
  .transform(list => list.map(part => PRICE.exec(part.trim())?.groups ?? {}))
  .transform(list =>
    list.map(({ model = '', input = '0', output = '0' }) => ({ model, input, output })),
  )
