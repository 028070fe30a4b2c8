package demo

import "strings"

// Nothing here is anybody's: the domains are reserved for examples (RFC 2606, section 3).
var (
	domains = []string{"example.com", "example.org", "example.net"}
	tenants = []string{
		"amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbour", "iris", "juniper", "kestrel", "lark",
	}
	countries = []string{"AT", "BR", "CA", "CH", "DE", "DK", "ES", "FR", "GB", "IN", "IT", "JP", "KE", "MX", "NL", "PL", "SE", "US"}
	// pending and paid orders are fewer than finished ones
	statuses   = []string{"pending", "paid", "paid", "shipped", "shipped", "delivered", "delivered", "delivered", "delivered", "delivered"}
	firstNames = []string{
		"Ada", "Amara", "Bruno", "Chen", "Chiara", "Dana", "Emeka", "Eva", "Farid", "Freya", "Gael", "Hana", "Ines", "Ivan", "Jonas",
		"Kaito", "Lena", "Luca", "Maya", "Mateo", "Nadia", "Noor", "Olga", "Omar", "Priya", "Rosa", "Sami", "Tariq", "Uma", "Yara",
	}
	lastNames = []string{
		"Abe", "Adeyemi", "Almeida", "Andersen", "Bauer", "Costa", "Dubois", "Fischer", "Garcia", "Hansen", "Ito", "Jansen", "Kaya", "Khan",
		"Kowalski", "Lindqvist", "Marino", "Mbeki", "Meyer", "Nakamura", "Novak", "Okafor", "Patel", "Rossi", "Schmidt", "Silva", "Torres", "Weber",
	}
	adjectives = []string{"Compact", "Foldable", "Granite", "Heavy", "Linen", "Little", "Modern", "Oak", "Plain", "Quiet", "Round", "Steel", "Sturdy", "Walnut", "Woollen"}
	nouns      = []string{"Basket", "Blanket", "Bottle", "Bowl", "Chair", "Clock", "Desk", "Jar", "Kettle", "Lamp", "Mirror", "Mug", "Pan", "Shelf", "Stool", "Table", "Tray", "Vase"}
	categories = []string{"bath", "bedroom", "garden", "kitchen", "living", "office"}
)

func lower(name string) string { return strings.ToLower(name) }
