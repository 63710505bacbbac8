import { afterAll, beforeAll, describe } from 'vitest'
import { accessibility } from './accessibility.ts'
import { findChromium } from './chromium.ts'
import { guidePictures } from './guide-pictures.ts'
import { signIn } from './sign-in.ts'
import { openTown, type Town } from './town.ts'
import { wallet } from './wallet.ts'

const chromium = findChromium()

describe.skipIf(chromium === undefined)('in a real browser', () => {
  let town: Town
  beforeAll(async () => {
    town = await openTown(chromium as string)
  })
  afterAll(() => town?.close())

  describe('signing in', () => signIn(() => town))
  describe('the wallet', () => wallet(() => town))
  describe('every page', () => accessibility(() => town))
  describe('the pictures of the guides', () => guidePictures(() => town))
})
