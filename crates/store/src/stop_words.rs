//! Words that carry a sentence and say nothing of what it is about, in the form in which terms
//! are: lower case, without accents, and sorted.

macro_rules! words {
    ($($word:tt)*) => { &[$(stringify!($word)),*] };
}

pub(crate) const ENGLISH: &[&str] = words![
    a about after again all also am an and any anything are aren as at be because been before being
    between both but by can could couldn d did didn do does doesn doing don each ever few for from
    had hadn has hasn have haven having he her here hers herself him himself his how i if in into is
    isn it its itself just let ll m may me might more most must my myself no nor not now of off on
    once only or other our ours out over own please re remember s said same say shall she should
    shouldn so some something such t tell than that the their theirs them themselves then there
    these they this those through to too under until up upon ve very was wasn we were weren what
    when where whether which while who whom whose why will with won would wouldn you your yours
    yourself
];

pub(crate) const GERMAN: &[&str] = words![
    aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bin bis
    bist bitte da dabei dafur damit dann daran darauf daraus das dass dein deine deinem deinen
    deiner dem den denn der des dessen dich die dies diese diesem diesen dieser dieses dir doch dort
    du durch ein eine einem einen einer eines er es etwas euch euer eure fur gegen habe haben habt
    hat hatte hatten hattest hier hin ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja
    jede jedem jeden jeder jedes jetzt kann kannst kein keine keinem keinen keiner konnen konnte man
    mein meine meinem meinen meiner meines mich mir mit muss mussen musst nach nicht nichts noch nun
    nur ob oder ohne schon sehr sein seine seinem seinen seiner seit sich sie sind so soll sollen
    sollte sondern uber um und uns unser unsere unserem unseren unserer unter viel viele vom von vor
    wann war waren warum was weil welche welchem welchen welcher welches wem wen wenn wer werde
    werden wessen wie wieder will wir wird wirst wo woher wohin wollen worden wurde wurden zu zum
    zur zwischen
];

pub(crate) const FRENCH: &[&str] = words![
    a ai alors apres au aucun aussi autre aux avait avant avec avez avoir avons c car ce cela celle
    ces cet cette chez combien comme comment d dans de depuis des dire dois doit donc dont du elle
    elles en encore entre es est et etaient etait etre eu eux fait il ils j je l la le les leur
    leurs lui m ma mais me meme mes moi mon n ne ni nos notre nous on ont ou par parce pas peut peux
    plus pour pourquoi puis qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si
    son sont sous suis sur t ta te tes toi ton tous tout toute toutes tres tu un une va vers vos
    votre vous y
];

pub(crate) const SPANISH: &[&str] = words![
    a al algo algun alguna algunos ante antes aquel aquella asi aun aunque cada como con contra cual
    cuales cuando cuanta cuantas cuanto cuantos de del desde donde dos e el ella ellas ellos en
    entre era eran eres es esa esas ese eso esos esta estaba estan estas este esto estos estoy fue
    fueron fui ha habia habian han has hasta hay he la las le les lo los mas me mi mis mismo mucho
    muy nada ni no nos nosotros nuestra nuestras nuestro nuestros o os otra otro para pero poco por
    porque que quien se sea ser sera si sido sin sobre son soy su sus tambien tan te tenemos tener
    tengo ti tiene tienen todo todos tu tus un una unas uno unos usted vuestra y ya yo
];

pub(crate) const ITALIAN: &[&str] = words![
    a ad agli ai al alla alle allo anche avere avete aveva c che chi ci cio come con cosa cui da dal
    dalla dalle dallo degli dei del dell della delle dello di dove e ed era erano essere fra fu gli
    ha hai hanno ho i il in io la le lei li lo loro lui ma me mi mia mie miei mio ne nei nel nella
    nelle nello noi non nostra nostri nostro o ogni per perche piu poi qual quale quali quando
    quanta quanti quanto quella quelle quelli quello questa queste questi questo se sei si sia siamo
    siete sono sta su sua sue sui sul sulla suo suoi te ti tra tu tua tuo tutti tutto un una uno vi
    voi
];

pub(crate) const PORTUGUESE: &[&str] = words![
    a ainda algum alguma antes ao aos aquela aquele aquilo as ate cada com como da das de dela dele
    deles depois do dos e ela elas ele eles em entre era eram essa esse esta estao estava este eu
    foi foram ha isso isto ja la lhe mais mas me mesmo meu meus minha minhas muito na nao nas nem no
    nos nossa nosso num numa o onde os ou para pela pelas pelo pelos por porque quais qual quando
    quantas quanto quantos que quem se sem ser sera seu seus so sobre sua suas tambem te tem tenho
    ter tinha todo todos tu tua um uma umas uns voce voces
];

pub(crate) const DUTCH: &[&str] = words![
    aan al alle alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus
    een en er ge geen haar had heb hebben heeft hem het hier hij hoe hoeveel hun ik in is ja je jij
    jouw jullie kan kon kunnen maar me meer men met mij mijn moet moeten na naar niet niets nog nu
    of om omdat ons onze ook op over te tegen toch toen tot u uit uw van veel voor waar waarom
    wanneer want waren was wat we wel welke werd werden wie wij wil wordt zal ze zelf zich zij zijn
    zo zonder zou
];

pub(crate) const SWEDISH: &[&str] = words![
    alla allt an ar at att av blev bli blir da dar de dem den denna deras dess det detta dig din
    dina ditt du efter ej eller en er era ett for fran ha hade han hans har henne hennes hon honom
    hur i icke in inom inte ja jag kan kunde man med mellan men mig min mina mitt mot mycket nagon
    nagot nagra nar ni nu och om oss over pa sa sadan sedan sig sin sina sitt sjalv skulle som till
    under upp ut utan vad var vara varfor varit vem vi vid vilka vilken vilket
];

pub(crate) const DANISH: &[&str] = words![
    af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din dine
    disse dit dog du efter eller en end er et for fra ham han hans har havde have hende hendes her
    hos hun hvad hvem hvilken hvilket hvis hvor hvordan hvorfor hvornar i ikke ind jeg jer jo kan
    kunne man mange med meget men mig min mine mit mod nar nogen noget nogle nu og ogsa om op os
    over pa sadan selv sig sin sine sit skal skulle som thi til ud under vaeret var vi vil ville vor
];

pub(crate) const NORWEGIAN: &[&str] = words![
    alle at av ble bli blir da de deg dem den denne deres det dette di din disse ditt du eller en
    enn er et ett for fra ha hadde han hans har henne hennes her hun hva hvem hver hvilken hvis hvor
    hvordan hvorfor i ikke inn jeg kan kunne man mange med meg men mer min mine mitt mot na nar noe
    noen og ogsa om opp oss over pa sa seg selv sin sine sitt skal skulle slik som til ut uten vaer
    vaere var vi vil ville
];

pub(crate) const FINNISH: &[&str] = words![
    ei eivat emme en etta ette han hanen hanta he heidan ja jo joka jonka jos kanssa kuin kuinka
    kuka kun lla me meidan mihin mika miksi milla milloin mina minka minua minun missa mita mitka
    mukaan mutta myos ne niiden niin nyt ole olen olet oli oliko olimme olin olivat olla olleet
    ollut on onko ovat se sen sina sinun sita tai tama taman te teidan tuo vai vain voi
];

// Strings, since words in another alphabet look like names in this one.
#[rustfmt::skip]
pub(crate) const RUSSIAN: &[&str] = &[
    "а", "без", "был", "была", "были", "было", "быть", "в", "вам", "вас", "весь", "во", "вот",
    "все", "всего", "всех", "вы", "где", "да", "для", "до", "его", "ее", "если", "есть", "еще",
    "же", "за", "зачем", "и", "из", "или", "им", "их", "к", "как", "какая", "какие", "какое",
    "какой", "какую", "когда", "кого", "кому", "которая", "которые", "который", "кто", "куда", "ли",
    "меня", "мне", "мной", "моего", "моей", "мои", "мой", "мою", "моя", "мы", "на", "над", "надо",
    "нам", "нас", "наш", "наша", "наше", "нашего", "нашей", "наши", "нашу", "не", "него", "нее",
    "нет", "ни", "них", "но", "ну", "о", "об", "он", "она", "они", "оно", "от", "откуда", "по",
    "под", "потом", "почему", "при", "про", "с", "сам", "свой", "себя", "сколько", "со", "так",
    "также", "такой", "там", "те", "тебе", "тебя", "то", "того", "тоже", "той", "только", "том",
    "ты", "у", "уже", "чего", "чей", "чем", "что", "чтобы", "чья", "эта", "эти", "это", "этого",
    "этой", "этом", "этот", "эту", "я",
];

pub(crate) const TURKISH: &[&str] = words![
    acaba ama ancak aslinda az bana bazi belki ben beni benim bir biri birkac biz bize bizi bizim bu
    buna bunda bundan bunlar bunu bunun cok cunku da daha de degil diye dolayi en gibi gore hangi
    hangisi hem hep hepsi her hic icin ile ise kac kadar kendi kez ki kim kime kimin mi mu nasil ne
    neden nerede nereye nicin niye o olan olarak oldu oldugu olur on ona ondan onlar onu onun sana
    sanki sen seni senin sey siz sizi sizin sonra su tum var ve veya ya yani yok zaman
];

pub(crate) const POLISH: &[&str] = words![
    a aby ale bardzo bez bo by byc byl byla bylo byly ci co cos czy czyj dla do gdy gdzie go i ich
    ile im ja jak jaka jaki jakie je jego jej jest jestem juz kiedy kogo komu kto ktora ktore ktory
    lub ma mam mi mnie moi moj moja moje mojego mojej mu my na nad nam nas nasz nasza nasze naszego
    naszej nie nim o od on ona one oni ono oraz po pod przed przez przy sa sie skad sobie swoj ta
    tak takze tam te tego tej ten to tu ty tylko w was we wiec wy z za ze
];

pub(crate) const ARABIC: &[&str] = &[
    "اذا",
    "التي",
    "الذي",
    "الذين",
    "الي",
    "ان",
    "انا",
    "انت",
    "انه",
    "انها",
    "او",
    "اي",
    "ايضا",
    "اين",
    "بعض",
    "به",
    "بها",
    "بين",
    "تكون",
    "تلك",
    "ثم",
    "حتي",
    "ذا",
    "ذلك",
    "عن",
    "عند",
    "عنه",
    "عنها",
    "غير",
    "في",
    "فيه",
    "فيها",
    "قد",
    "كان",
    "كانت",
    "كل",
    "كم",
    "كنت",
    "كيف",
    "لا",
    "لك",
    "لكن",
    "لم",
    "لماذا",
    "لن",
    "لنا",
    "له",
    "لها",
    "لهم",
    "لي",
    "ليس",
    "ليست",
    "ما",
    "ماذا",
    "متي",
    "مع",
    "من",
    "منه",
    "منها",
    "نحن",
    "هذا",
    "هذه",
    "هل",
    "هم",
    "هنا",
    "هناك",
    "هو",
    "هي",
    "و",
    "وما",
    "ومن",
    "وهو",
    "وهي",
    "يا",
    "يكون",
];
