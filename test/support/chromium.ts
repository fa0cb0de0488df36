/** The machine's own browser, where there is one: nothing is downloaded. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const PLACES = [
  process.env.CHROMIUM_PATH ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Path of a Chromium, or undefined. */
export function findChromium(): string | undefined {
  return PLACES.find(path => path !== '' && existsSync(path))
}

/** Starts it without a window. */
export function launchChromium(executablePath: string): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-dev-shm-usage']
  return chromium.launch({ executablePath, headless: true, args })
}
