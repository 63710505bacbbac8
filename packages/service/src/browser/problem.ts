import { handleCopy } from './support.ts'

handleCopy()
