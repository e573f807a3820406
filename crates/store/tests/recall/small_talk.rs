//! Small talk to get lost in: made of the words that the questions are about, and of nothing
//! that answers one.

use super::Line;
use insula_store::Role;

/// Numbers that look random and are the same every time.
pub struct Dice(u64);

impl Dice {
    /// Dice that fall the same way for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below this one.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// The language of small talk.
#[derive(Debug, Clone, Copy)]
pub enum SmallTalk {
    English,
    German,
    Chinese,
    Japanese,
}

impl SmallTalk {
    /// Something that is said.
    pub fn line(self, dice: &mut Dice) -> Line {
        let (patterns, things, names) = match self {
            Self::English => (&ENGLISH[..], &THINGS[..], &NAMES[..]),
            Self::German => (&GERMAN[..], &DINGE[..], &NAMEN[..]),
            Self::Chinese => (&CHINESE[..], &CHINESE_THINGS[..], &CHINESE_NAMES[..]),
            Self::Japanese => (&JAPANESE[..], &JAPANESE_THINGS[..], &JAPANESE_NAMES[..]),
        };
        let pattern = patterns[dice.below(patterns.len())];
        let text = pattern
            .replace("{thing}", things[dice.below(things.len())])
            .replace("{other}", things[dice.below(things.len())])
            .replace("{name}", names[dice.below(names.len())])
            .replace("{number}", &(dice.below(90) + 10).to_string());
        let role = if dice.below(2) == 0 { Role::User } else { Role::Assistant };
        Line { role, text: Some(text), is_evidence: false }
    }
}

const ENGLISH: [&str; 18] = [
    "Remind me to ask {name} about the {thing} next week.",
    "The {thing} can wait, let us talk about the {other} first.",
    "I told {name} that the {thing} is fine for now.",
    "What do you think about the {thing}?",
    "I don't know yet what we should do with the {thing}.",
    "You asked me about the {thing} before, nothing has changed since.",
    "How many people did {name} say would come?",
    "When did I last write to {name} about the {other}?",
    "That is a good question, and I have no answer to it.",
    "Please put the {thing} on the list, number {number}.",
    "It was {number} the last time, if I remember it right.",
    "{name} says hello, and asks how the {thing} is going.",
    "Which {thing} do you mean, the old one or the new one?",
    "I had a look at the {thing} yesterday, and it is what it was.",
    "Could you find out how much a {thing} costs these days?",
    "We will see. There are {number} days left until then.",
    "Where did you put my notes on the {thing} and the {other}?",
    "I would rather hear what {name} has to say about it.",
];
const THINGS: [&str; 40] = [
    "dog",
    "boiler",
    "birthday party",
    "appointment",
    "interview",
    "flight",
    "password",
    "novel",
    "service",
    "deployment",
    "recipe",
    "rent",
    "school",
    "car",
    "talk",
    "garden",
    "violin",
    "bike",
    "contract",
    "review",
    "ferry",
    "hospital",
    "language course",
    "plants",
    "permit",
    "printer",
    "present",
    "knee",
    "coffee",
    "key",
    "budget",
    "pills",
    "flat",
    "choir",
    "laptop",
    "christening",
    "holiday",
    "kitchen",
    "weekend",
    "meeting",
];
const NAMES: [&str; 10] = [
    "Tom",
    "Sarah",
    "Peter",
    "Hanna",
    "Miriam",
    "Jun",
    "my mother",
    "Leo",
    "the landlord",
    "Ingrid",
];

const GERMAN: [&str; 12] = [
    "Erinnere mich daran, {name} nächste Woche nach {thing} zu fragen.",
    "Das mit {thing} kann warten, reden wir erst über {other}.",
    "Ich weiß noch nicht, was wir mit {thing} machen.",
    "Was hältst du von {thing}?",
    "Wie viele Leute kommen, hat {name} gesagt?",
    "Das ist eine gute Frage, und ich habe keine Antwort darauf.",
    "Setz {thing} bitte auf die Liste, Nummer {number}.",
    "Beim letzten Mal waren es {number}, wenn ich mich recht erinnere.",
    "{name} lässt grüßen und fragt, was {thing} macht.",
    "Wo sind meine Notizen zu {thing} und {other}?",
    "Was kostet so etwas heute eigentlich?",
    "Es bleiben noch {number} Tage bis dahin.",
];
const DINGE: [&str; 16] = [
    "Hund",
    "Heizung",
    "Geburtstag",
    "Haus",
    "Fahrrad",
    "Termin",
    "Zahnarzt",
    "Allergie",
    "Reise",
    "Fähre",
    "Gespräch",
    "Garten",
    "Keller",
    "Versicherung",
    "Mutter",
    "Wochenende",
];
const NAMEN: [&str; 5] = ["Anna", "Jürgen", "meine Mutter", "Frau Krüger", "der Nachbar"];

const CHINESE: [&str; 10] = [
    "下周提醒我问{name}关于{thing}的事。",
    "{thing}可以等等,我们先说{other}吧。",
    "我还不知道{thing}要怎么办。",
    "你觉得{thing}怎么样?",
    "{name}说一共有多少人来?",
    "这是个好问题,我也没有答案。",
    "请把{thing}写到清单上,第{number}条。",
    "上次好像是{number},我记得不太清楚。",
    "{name}向你问好,问{thing}怎么样了。",
    "离那天还有{number}天。",
];
const CHINESE_THINGS: [&str; 14] = [
    "小狗",
    "热水器",
    "生日",
    "餐厅",
    "牙医",
    "预约",
    "过敏",
    "挪威",
    "渡轮",
    "车",
    "猫",
    "名字",
    "医生",
    "孩子们",
];
const CHINESE_NAMES: [&str; 5] = ["小李", "王老师", "妈妈", "师傅", "邻居"];

const JAPANESE: [&str; 10] = [
    "来週{name}に{thing}のことを聞くようにリマインドしてください。",
    "{thing}は後にして、先に{other}の話をしましょう。",
    "{thing}をどうするかまだ決めていません。",
    "{thing}についてどう思いますか?",
    "{name}は何人来ると言っていましたか?",
    "それはいい質問ですが、答えはわかりません。",
    "{thing}をリストの{number}番に入れてください。",
    "前回は{number}だったと思います。",
    "{name}がよろしくと言っていました。{thing}はどうですか。",
    "その日まであと{number}日です。",
];
const JAPANESE_THINGS: [&str; 14] = [
    "犬",
    "給湯器",
    "誕生日",
    "レストラン",
    "歯医者",
    "予約",
    "アレルギー",
    "ノルウェー",
    "フェリー",
    "車",
    "猫",
    "名前",
    "修理",
    "旅行",
];
const JAPANESE_NAMES: [&str; 5] = ["田中さん", "先生", "母", "業者", "隣の人"];
